#!/usr/bin/env bash
# ClickHouse writes another uuid into BSON, and reads another from it
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: chdb 4.4.0 (ClickHouse 26.9) and pymongo 4.20.1 of PyPI, Python 3.11
# Expected: subtype 4 of BSON has the bytes in the order of the text; in Arrow, Parquet and MessagePack they are right
# Behaviour: each half is reversed, but subtype 4 does not say so: order and time are lost for MongoDB's tools, and from them
# Output seen: written 0070fcdc-de1a-a201-0100-000000000080, read 1970
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install chdb==4.4.0 pymongo==4.20.1
seen=$(venv/bin/python - <<'END'
import uuid
import bson
import chdb
key = "01a21ade-dcfc-7000-8000-000000000001"
written = bson.decode(chdb.query(f"SELECT toUUID('{key}') AS id", "BSONEachRow").bytes())["id"].as_uuid()
with open("keys.bson", "wb") as file:
    file.write(bson.encode({"id": bson.Binary.from_uuid(uuid.UUID(key))}))
read = chdb.query("SELECT toYear(UUIDv7ToDateTime(id, 'UTC')) FROM file('keys.bson', 'BSONEachRow', 'id UUID')", "CSV")
print(f"written {written}, read {read}".strip())
END
)
[ "$seen" = "written 0070fcdc-de1a-a201-0100-000000000080, read 1970" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
