#!/usr/bin/env bash
# A filter by the text of a uuid finds nothing in a Parquet column of uuids, and raises nothing
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: polars 2.1.0 and pyarrow 26.0.1 of PyPI, Python 3.11
# Expected: rows, or an error: the column is read as Binary
# Behaviour: of 10 rows >= and == find none, and < finds all
# Output seen: text >= 0, == 0, < 10; bytes >= 6
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install polars==2.1.0 pyarrow==26.0.1
seen=$(venv/bin/python - <<'END'
import uuid
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
keys = [uuid.UUID(int=n << 80 | 7 << 76 | 1 << 63) for n in range(1, 11)]
column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([key.bytes for key in keys], pa.binary(16)))
pq.write_table(pa.table({"id": column}), "keys.parquet")
rows, text = pl.read_parquet("keys.parquet"), str(keys[4])
count = lambda condition: rows.filter(condition).height
print(f"text >= {count(pl.col('id') >= text)}, == {count(pl.col('id') == text)}, < {count(pl.col('id') < text)};",
    f"bytes >= {count(pl.col('id') >= keys[4].bytes)}")
END
)
[ "$seen" = "text >= 0, == 0, < 10; bytes >= 6" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
