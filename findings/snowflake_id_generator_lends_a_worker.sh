#!/usr/bin/env bash
# The last id of a full millisecond is that of the next worker, or of the next millisecond
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: snowflake-id-generator 2.0.0 of PyPI, Python 3.11
# Expected: sequence numbers from 5, the default minimum, to 63, the most that the 6 bits hold
# Behaviour: they go from 6 to 64, so worker 1's last id has worker 2, and worker 63's has worker 0 of the next millisecond
# Output seen: (0 ms, worker 2, sequence 0) (1 ms, worker 0, sequence 0)
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install snowflake-id-generator==2.0.0
seen=$(venv/bin/python - <<'END'
import time
from id_generator import DefaultIdGenerator, IdGeneratorOptions
time.time_ns = lambda: 1795747142908000000
def last_of_a_millisecond(worker):
    generator = DefaultIdGenerator()
    generator.set_id_generator(IdGeneratorOptions(worker_id=worker))
    ids = [generator.next_id() for _ in range(59)]
    return f"({(ids[-1] >> 12) - (ids[0] >> 12)} ms, worker {ids[-1] >> 6 & 63}, sequence {ids[-1] & 63})"
print(last_of_a_millisecond(1), last_of_a_millisecond(63))
END
)
[ "$seen" = "(0 ms, worker 2, sequence 0) (1 ms, worker 0, sequence 0)" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
