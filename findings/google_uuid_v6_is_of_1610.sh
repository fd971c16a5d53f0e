#!/usr/bin/env bash
# Keys of version 6 of google/uuid are of 1610 for everyone else, and theirs of 8688 for google/uuid
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: github.com/google/uuid v1.6.0, github.com/gofrs/uuid/v5 v5.5.1, Go 1.26.8
# Expected: the first 32 bits are the upper 32 of the 60 bits of time, as in RFC 9562, section 5.6
# Behaviour: the time stands 4 bits lower, under four zeros, and Time() reads it from there
# Output seen: gofrs reads google: 1610, google reads gofrs: 8688
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"

	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
)

func main() {
	key, _ := uuid.NewV6()
	stamp, _ := gofrs.TimestampFromV6(gofrs.UUID(key))
	at, _ := stamp.Time()
	other, _ := gofrs.NewV6AtTime(time.UnixMilli(1795747142908))
	seconds, _ := uuid.UUID(other).Time().UnixTime()
	fmt.Printf("gofrs reads google: %d, google reads gofrs: %d\n", at.Year(), time.Unix(seconds, 0).UTC().Year())
}
END
export GOPATH="$directory/go" GOCACHE="$directory/cache" GOFLAGS=-modcacherw
go mod init try 2>/dev/null
go get github.com/google/uuid@v1.6.0 github.com/gofrs/uuid/v5@v5.5.1 2>/dev/null
seen=$(go run .)
[ "$seen" = "gofrs reads google: 1610, google reads gofrs: 8688" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
