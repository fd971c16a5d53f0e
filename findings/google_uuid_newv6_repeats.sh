#!/usr/bin/env bash
# NewV6() makes the same key again within 7 ms
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: github.com/google/uuid v1.6.0, Go 1.26.8
# Expected: keys of one process differ: GetTime() gives no 100 ns twice without another clock sequence
# Behaviour: the version is written over bits 12 to 15 of the time, so keys that are 409.6 us apart can be equal
# Output seen: of 10000 keys at random times of a second 9921 are different
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >main_test.go <<'END'
package try

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random, keys := rand.New(rand.NewPCG(1, 2)), map[uuid.UUID]bool{}
		for range 10000 {
			time.Sleep(time.Duration(100+random.IntN(200000)) * time.Nanosecond)
			key, _ := uuid.NewV6()
			keys[key] = true
		}
		fmt.Printf("of 10000 keys at random times of a second %d are different\n", len(keys))
	})
}
END
export GOPATH="$directory/go" GOCACHE="$directory/cache" GOFLAGS=-modcacherw
go mod init try 2>/dev/null
go get github.com/google/uuid@v1.6.0 2>/dev/null
seen=$(go test -v . | grep different) || true
[ "$seen" = "of 10000 keys at random times of a second 9921 are different" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
