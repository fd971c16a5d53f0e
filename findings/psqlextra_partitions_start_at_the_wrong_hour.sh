#!/usr/bin/env bash
# Hourly partitions made ahead at 15:20 end at 03:00, and a monthly one begins on the 1st at 15:00
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: django-postgres-extra 3.0.1 and Django 5.2.19 of PyPI, Python 3.11
# Expected: count partitions "ahead from the current date/time", a month from the 1st at 00:00
# Behaviour: hourly ones are counted from midnight, so none is for now; months, weeks and years keep the hour of the command
# Output seen: 3 hours: to 2026-11-27 03:00; month: from 2026-11-01 15:00; week: from 2026-11-23 15:00
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install django-postgres-extra==3.0.1 Django==5.2.19 "psycopg[binary]==3.3.9"
seen=$(venv/bin/python - <<'END'
import datetime
import django
from django.conf import settings
settings.configure(DATABASES={"default": {"ENGINE": "psqlextra.backend"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "psqlextra"])
django.setup()
from psqlextra.partitioning import PostgresCurrentTimePartitioningStrategy as Strategy, PostgresTimePartitionSize as Size
Strategy.get_start_datetime = lambda self: datetime.datetime(2026, 11, 27, 15, 20, tzinfo=datetime.timezone.utc)
plan = lambda count, **size: list(Strategy(Size(**size), count).to_create())
print(f"3 hours: to {plan(3, hours=1)[2].to_values[:-3]}; month: from {plan(1, months=1)[0].from_values[:-3]};",
    f"week: from {plan(1, weeks=1)[0].from_values[:-3]}")
END
)
[ "$seen" = "3 hours: to 2026-11-27 03:00; month: from 2026-11-01 15:00; week: from 2026-11-23 15:00" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
