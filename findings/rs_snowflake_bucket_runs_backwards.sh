#!/usr/bin/env bash
# A SnowflakeIdBucket hands out its ids from the last to the first
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: rs-snowflake 0.6.0 of crates.io, Rust 1.95.0
# Expected: ids of one bucket ascend
# Behaviour: 4091 ids are made ahead and popped from the end
# Output seen: 4090 of 4090 descend
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir src
printf '%s\n' '[package]' 'name = "try"' 'version = "0.1.0"' 'edition = "2021"' '[dependencies]' \
	'rs-snowflake = "=0.6.0"' >Cargo.toml
cat >src/main.rs <<'END'
fn main() {
	let mut bucket = snowflake::SnowflakeIdBucket::new(1, 1);
	let ids: Vec<i64> = (0..4091).map(|_| bucket.get_id()).collect();
	println!("{} of 4090 descend", ids.windows(2).filter(|pair| pair[0] > pair[1]).count());
}
END
export CARGO_TARGET_DIR="$directory/target"
seen=$(cargo run --quiet)
[ "$seen" = "4090 of 4090 descend" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
