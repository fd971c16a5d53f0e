#!/usr/bin/env bash
# NewV7AtTime() of a future time moves the later keys of NewV7() there
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: github.com/gofrs/uuid/v5 v5.5.1, Go 1.26.8
# Expected: NewV7() takes the time of the clock
# Behaviour: once a key of tomorrow was asked for, all keys are of tomorrow
# Output seen: 0 hours ahead, then 24
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"

	"github.com/gofrs/uuid/v5"
)

func hoursAhead(now time.Time) int {
	key, _ := uuid.NewV7()
	stamp, _ := uuid.TimestampFromV7(key)
	at, _ := stamp.Time()
	return int(at.Sub(now).Round(time.Minute).Hours())
}

func main() {
	now := time.Now()
	before := hoursAhead(now)
	uuid.NewV7AtTime(now.Add(24 * time.Hour))
	fmt.Printf("%d hours ahead, then %d\n", before, hoursAhead(now))
}
END
export GOPATH="$directory/go" GOCACHE="$directory/cache" GOFLAGS=-modcacherw
go mod init try 2>/dev/null
go get github.com/gofrs/uuid/v5@v5.5.1 2>/dev/null
seen=$(go run .)
[ "$seen" = "0 hours ahead, then 24" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
