"""dbt: an incremental model of the table, one of the view, and one with the bound in the model"""
import shutil

from common import directory, polls, relation, write_rows

from dbt.cli.main import dbtRunner
import psycopg2

project = f"{directory}/dbt"
shutil.copytree("dbt", project, dirs_exist_ok=True)
model = f"copy_of_{relation}"

# what a first run before the first row leaves
with psycopg2.connect("") as db, db.cursor() as empty:
	empty.execute(f"CREATE TABLE IF NOT EXISTS {model} AS SELECT id, body FROM outbox LIMIT 0")

for _ in polls():
	result = dbtRunner().invoke(["--quiet", "run", "--no-send-anonymous-usage-stats", "--project-dir", project,
		"--profiles-dir", project, "--select", model])
	assert result.success, result

with psycopg2.connect("") as db, db.cursor() as rows:
	rows.execute(f"SELECT id, body FROM {model}")
	write_rows(rows.fetchall())
