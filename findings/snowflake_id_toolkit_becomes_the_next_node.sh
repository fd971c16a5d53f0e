#!/usr/bin/env bash
# After 4096 ids in a millisecond a node goes on with the ids of the next node
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: snowflake-id-toolkit 0.6.0 of PyPI, Python 3.11
# Expected: sequence 0 of the next millisecond, for which generate_next_id() waits
# Behaviour: it waits, but the sequence goes on to 4096, which is the lowest bit of the node
# Output seen: the 4097th id of node 0 is of node 1 and equals the first of node 1
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install snowflake-id-toolkit==0.6.0 typing-extensions==4.15.0
seen=$(venv/bin/python - <<'END'
from itertools import chain, repeat
from snowflake_id_toolkit import TwitterSnowflakeIDGenerator
def generator(node, times):
    class Stated(TwitterSnowflakeIDGenerator):
        @classmethod
        def get_current_timestamp(cls):
            return next(times)
    return Stated(node_id=node)
zero = generator(0, chain(repeat(1795747142908, 4098), repeat(1795747142909)))
ids = [zero.generate_next_id() for _ in range(4097)]
one = generator(1, repeat(1795747142909)).generate_next_id()
compared = "equals" if ids[-1] == one else "is not"
print("the 4097th id of node 0 is of node", ids[-1].node_id(), "and", compared, "the first of node 1")
END
)
[ "$seen" = "the 4097th id of node 0 is of node 1 and equals the first of node 1" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
