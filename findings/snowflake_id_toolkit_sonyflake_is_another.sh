#!/usr/bin/env bash
# The Sonyflakes of snowflake-id-toolkit have machine and sequence the other way round
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: snowflake-id-toolkit 0.6.0 and sonyflake-py 1.3.0 of PyPI, Python 3.11
# Expected: 8 bits of sequence, then 16 of the machine, as in "Sony's Sonyflake", which it says to be
# Behaviour: 8 bits of the node, then 16 of sequence, so its nodes make each other's ids of Sonyflake
# Output seen: node 5 with sequence 0 is machine 0 with sequence 5
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install snowflake-id-toolkit==0.6.0 typing-extensions==4.15.0 sonyflake-py==1.3.0
seen=$(venv/bin/python - <<'END'
from snowflake_id_toolkit import SonyflakeIDGenerator
from sonyflake import SonyFlake
made = SonyflakeIDGenerator(node_id=5, epoch=173568960000).generate_next_id()
read = SonyFlake.decompose(int(made))
print(f"node {made.node_id()} with sequence {made.sequence()} is machine {read['machine_id']} with sequence {read['sequence']}")
END
)
[ "$seen" = "node 5 with sequence 0 is machine 0 with sequence 5" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
