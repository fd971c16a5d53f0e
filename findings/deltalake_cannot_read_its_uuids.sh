#!/usr/bin/env bash
# A Delta table of uuids can be written, but not read, not even its other columns
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: deltalake 1.6.6 and pyarrow 26.0.1 of PyPI, Python 3.11
# Expected: the uuids, or an error when they are written
# Behaviour: they are stored as Binary, but the column keeps the name arrow.uuid, of which pyarrow demands 16 bytes
# Output seen: written: binary; read id: ArrowInvalid, n: ArrowInvalid
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install deltalake==1.6.6 pyarrow==26.0.1
seen=$(venv/bin/python - <<'END'
import deltalake
import pyarrow as pa
keys = pa.array([(n << 80 | 7 << 76 | 1 << 63).to_bytes(16, "big") for n in range(1, 11)], pa.binary(16))
deltalake.write_deltalake("t", pa.table({"id": pa.ExtensionArray.from_storage(pa.uuid(), keys), "n": range(1, 11)}))
table = deltalake.DeltaTable("t")
def read(column):
    try:
        return table.to_pyarrow_table(columns=[column]).num_rows
    except pa.ArrowInvalid as error:
        return type(error).__name__
print(f"written: {table.schema().fields[0].type.type}; read id: {read('id')}, n: {read('n')}")
END
)
[ "$seen" = "written: binary; read id: ArrowInvalid, n: ArrowInvalid" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
