#!/usr/bin/env bash
# A uuid that ends in zeros comes back shorter, and is not found
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: fastparquet 2026.9.0 and pyarrow 26.0.1 of PyPI, Python 3.11
# Expected: the 16 bytes that are in the file
# Behaviour: zeros at the end are cut off each value, so also off one random key in 256, and off the file's minimum
# Output seen: 9 bytes; of 256 keys >= the first finds 255, == it finds 0
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install fastparquet==2026.9.0 pyarrow==26.0.1
seen=$(venv/bin/python - <<'END'
import fastparquet
import pyarrow as pa
import pyarrow.parquet as pq
keys = [(0x01a21adedcfc70008000000000000000 + n).to_bytes(16, "big") for n in range(256)]
column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(keys, pa.binary(16)))
pq.write_table(pa.table({"id": column}), "keys.parquet")
file = fastparquet.ParquetFile("keys.parquet")
found = lambda operator: len(file.to_pandas(filters=[("id", operator, keys[0])], row_filter=True))
print(len(file.to_pandas().id[0]), "bytes; of 256 keys >= the first finds", str(found(">=")) + ", == it finds", found("=="))
END
)
[ "$seen" = "9 bytes; of 256 keys >= the first finds 255, == it finds 0" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
