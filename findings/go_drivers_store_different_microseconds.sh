#!/usr/bin/env bash
# A row that lib/pq wrote at a time is after this time for pgx
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: github.com/lib/pq v1.12.3 and github.com/jackc/pgx/v5 v5.13.0, Go 1.26.8, PostgreSQL 15
# Expected: two drivers of database/sql store the same microsecond for the same time.Time, so that a cursor fits both
# Behaviour: lib/pq sends nanoseconds, which the server rounds, and pgx cuts them off, so half of all times differ by 1 us
# Output seen: pq 02.908124, pgx 02.908123, rows after it for pgx: 1
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >main.go <<'END'
package main

import (
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

func main() {
	at := time.Date(2026, 11, 27, 2, 39, 2, 908123999, time.UTC)
	source := "host=" + os.Args[1] + " user=postgres dbname=postgres sslmode=disable"
	pq, _ := sql.Open("postgres", source)
	pgx, _ := sql.Open("pgx", source)
	var first, second string
	var after int
	pq.Exec("CREATE TABLE t (at timestamptz)")
	pq.QueryRow("INSERT INTO t VALUES ($1) RETURNING to_char(at, 'SS.US')", at).Scan(&first)
	pgx.QueryRow("SELECT count(*) FROM t WHERE at > $1", at).Scan(&after)
	pgx.QueryRow("SELECT to_char($1::timestamptz, 'SS.US')", at).Scan(&second)
	fmt.Printf("pq %s, pgx %s, rows after it for pgx: %d\n", first, second, after)
}
END
export GOPATH="$directory/go" GOCACHE="$directory/cache" GOFLAGS=-modcacherw
go mod init try 2>/dev/null
go get github.com/lib/pq@v1.12.3 github.com/jackc/pgx/v5@v5.13.0 github.com/jackc/pgx/v5/stdlib@v5.13.0 2>/dev/null
go build -o try .
as=() programs=/usr/lib/postgresql/15/bin
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	chown postgres "$directory"
fi
"${as[@]}" "$programs/initdb" -A trust -D data -U postgres >/dev/null
"${as[@]}" "$programs/postgres" -D data -k "$directory" -c listen_addresses= >/dev/null 2>&1 &
server=$!
trap 'kill -INT "$server"; wait "$server" || true; rm -rf "$directory"' EXIT
timeout 60 sh -c "until $programs/pg_isready -q -h $directory; do sleep 0.2; done"
seen=$(./try "$directory")
[ "$seen" = "pq 02.908124, pgx 02.908123, rows after it for pgx: 1" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
