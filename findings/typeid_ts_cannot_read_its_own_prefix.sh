#!/usr/bin/env bash
# A TypeID with an underscore in its prefix is made, but not read again
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: typeid-ts 0.3.8 of npm, Node.js 20.20.2, go.jetify.com/typeid v1.3.0, Go 1.26.8
# Expected: the suffix begins after the last underscore, as in the specification and in its implementation in Go
# Behaviour: the text is cut at the first underscore, although underscores are allowed when an id is made
# Output seen: Go: my_type; typeid-ts: Invalid suffix: type
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . typeid-ts@0.3.8 >/dev/null
cat >try.cjs <<'END'
const { typeid, decodeFromString } = require('typeid-ts');
const id = typeid('my_type');
try {
	console.log(id, decodeFromString(id).type);
} catch (error) {
	console.log(id, error.message);
}
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"go.jetify.com/typeid"
)

func main() {
	id, err := typeid.FromString(os.Args[1])
	fmt.Print(id.Prefix())
	if err != nil {
		fmt.Print(err)
	}
}
END
export GOPATH="$directory/go" GOCACHE="$directory/cache" GOFLAGS=-modcacherw
go mod init try 2>/dev/null
go get go.jetify.com/typeid@v1.3.0 2>/dev/null
read -r id typeid_ts <<<"$(node try.cjs)"
seen="Go: $(go run . "$id"); typeid-ts: $typeid_ts"
[ "$seen" = "Go: my_type; typeid-ts: Invalid suffix: type" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
