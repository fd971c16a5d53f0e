"""dlt: the source sql_database, incremental on one column, into DuckDB.  A table that a policy shows is merged by its primary key"""
import os

import duckdb
from sqlalchemy import create_engine, text

from common import anywhere, cursor, directory, polls, relation, write_rows

import dlt
from dlt.sources.sql_database import sql_table

file = f"{directory}/orders.duckdb"
pipeline = dlt.pipeline(
	"copy", pipelines_dir=directory, dataset_name="copy", destination=dlt.destinations.duckdb(file))

if pipeline.has_pending_data:
	pipeline.run()
disposition = "merge" if os.environ.get("PGUSER") == "tool" else "append"
engine = create_engine("postgresql+psycopg2://")
for _ in polls():
	if anywhere:
		with engine.begin() as connection:
			connection.execute(text("SELECT comb_feed_advance()"))
	rows = sql_table(engine, table=relation, incremental=dlt.sources.incremental(cursor))
	pipeline.run(rows, table_name="outbox", write_disposition=disposition)

write_rows(duckdb.connect(file, read_only=True).execute("SELECT id, body FROM copy.outbox").fetchall())
