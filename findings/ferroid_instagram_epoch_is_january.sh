#!/usr/bin/env bash
# ferroid and Instagram do not mean the same Instagram epoch
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: ferroid 2.0.0 of crates.io, Rust 1.95.0
# Expected: 1314220021721 ms, 2011-08-24, which the published SQL has
# Behaviour: 2011-01-01
# Output seen: 1293840000s
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir src
printf '%s\n' '[package]' 'name = "try"' 'version = "0.1.0"' 'edition = "2021"' '[dependencies]' 'ferroid = "=2.0.0"' >Cargo.toml
echo 'fn main() { println!("{:?}", ferroid::time::INSTAGRAM_EPOCH); }' >src/main.rs
export CARGO_TARGET_DIR="$directory/target"
seen=$(cargo run --quiet)
[ "$seen" = "1293840000s" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
