#!/usr/bin/env bash
# The range from t to t is empty in PostgreSQL, but overlaps the day around it in SQLAlchemy
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: SQLAlchemy 2.1.9 and psycopg 3.3.9 of PyPI, Python 3.11, PostgreSQL 15
# Expected: is_empty and overlaps() of Range answer as isempty() and && do
# Behaviour: only a range that is built with empty=True is empty, so the same range differs before and after it is stored
# Output seen: built: is_empty False, overlaps True, equal True; stored: is_empty True, overlaps False, equal False
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install SQLAlchemy==2.1.9 "psycopg[binary]==3.3.9"
as=() programs=/usr/lib/postgresql/15/bin
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	chown postgres "$directory"
fi
"${as[@]}" "$programs/initdb" -A trust -D data -U postgres >/dev/null
"${as[@]}" "$programs/postgres" -D data -k "$directory" -c listen_addresses= >/dev/null 2>&1 &
server=$!
trap 'kill -INT "$server"; wait "$server" || true; rm -rf "$directory"' EXIT
timeout 60 sh -c "until $programs/pg_isready -q -h $directory; do sleep 0.2; done"
seen=$(venv/bin/python - "$directory" <<'END'
import datetime
import sys
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSTZRANGE, Range
start = datetime.datetime(2026, 11, 27, tzinfo=datetime.timezone.utc)
noon, day = start + datetime.timedelta(hours=12), Range(start, start + datetime.timedelta(days=1))
window = Range(noon, noon)
with sa.create_engine(f"postgresql+psycopg://postgres@/postgres?host={sys.argv[1]}").connect() as db:
    stored = db.scalar(sa.select(sa.cast(window, TSTZRANGE)))
    text = lambda range: f"is_empty {range.is_empty}, overlaps {day.overlaps(range)}, equal {range == window}"
    print(f"built: {text(window)}; stored: {text(stored)}")
END
)
[ "$seen" = "built: is_empty False, overlaps True, equal True; stored: is_empty True, overlaps False, equal False" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
