#!/usr/bin/env bash
# The additional precision of ContextV7 does not count 1/4096 ms
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: uuid 1.29.3 of crates.io, Rust 1.95.0
# Expected: half a millisecond is 800, and its end fff, as in RFC 9562, section 6.2, method 3
# Behaviour: it counts 245 ns, so rand_a ends with ff1
# Output seen: 0 7f8 ff1
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir src
printf '%s\n' '[package]' 'name = "try"' 'version = "0.1.0"' 'edition = "2021"' '[dependencies]' \
	'uuid = { version = "=1.29.3", features = ["v7"] }' >Cargo.toml
cat >src/main.rs <<'END'
use uuid::{ContextV7, Timestamp, Uuid};
fn main() {
	let rand_a = [0, 500_000, 999_999].map(|ns| {
		let context = ContextV7::new().with_additional_precision();
		let key = Uuid::new_v7(Timestamp::from_unix(&context, 1795747142, 908_000_000 + ns));
		format!("{:x}", key.as_u128() >> 64 & 0xfff)
	});
	println!("{}", rand_a.join(" "));
}
END
export CARGO_TARGET_DIR="$directory/target"
seen=$(cargo run --quiet)
[ "$seen" = "0 7f8 ff1" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
