"""Singer: tap-postgres of PipelineWise, incremental on one column, into a file of lines

The state is what a runner of Singer stores: the last one that came after the rows were written.
"""
import json
import os
import subprocess

from common import cursor, directory, polls, relation, write_rows

config, catalog, state, copy = (f"{directory}/{name}" for name in ("config.json", "catalog.json", "state.json", "copy"))
with open(config, "w") as file:
	json.dump({"host": os.environ["PGHOST"], "port": int(os.environ["PGPORT"]), "user": os.environ["PGUSER"],
		"password": "", "dbname": os.environ["PGDATABASE"]}, file)
tap = ["tap-postgres", "--config", config]

streams = json.loads(subprocess.run(tap + ["--discover"], check=True, stdout=subprocess.PIPE).stdout)
streams["streams"] = [stream for stream in streams["streams"] if stream["table_name"] == relation]
for metadata in streams["streams"][0]["metadata"]:
	if not metadata["breadcrumb"]:
		metadata["metadata"].update({"selected": True, "replication-method": "INCREMENTAL",
			"replication-key": cursor, "view-key-properties": ["id"]})
with open(catalog, "w") as file:
	json.dump(streams, file)

for _ in polls():
	known = ["--state", state] if os.path.exists(state) else []
	with subprocess.Popen(tap + ["--catalog", catalog] + known, stdout=subprocess.PIPE) as run, open(copy, "a") as file:
		for line in run.stdout:
			message = json.loads(line)
			if message["type"] == "RECORD":
				print(message["record"]["id"], message["record"]["body"], sep="|", file=file, flush=True)
			elif message["type"] == "STATE":
				with open(f"{state}.new", "w") as new:
					json.dump(message["value"], new)
				os.rename(f"{state}.new", state)
	assert run.returncode == 0

with open(copy) as file:
	write_rows(line.strip().split("|") for line in file)
