// goose, by pgx

package main

import (
	"context"
	"database/sql"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	client "clients/go"
)

func main() {
	client.ShowVersions("goose", "pgx")
	ctx := context.Background()
	db := client.Must(sql.Open("pgx", ""))
	provider := client.Must(goose.NewProvider(goose.DialectPostgres, db, os.DirFS("goose")))

	tables := func() (count int) {
		client.Check(db.QueryRow("SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename = 'orders'").Scan(&count))
		return count
	}

	client.Test("up makes the table", func() bool {
		return len(client.Must(provider.Up(ctx))) == 1 && tables() == 1
	})
	client.Test("a second up has nothing to do", func() bool {
		return len(client.Must(provider.Up(ctx))) == 0
	})
	client.Test("the table makes keys", func() bool {
		var keys int
		client.Must(db.Exec("INSERT INTO orders (item) VALUES ('bread'), ('salt')"))
		client.Check(db.QueryRow("SELECT count(comb_timestamp(id)) FROM orders WHERE comb_timestamp(ref, 'rtcomb_sql') IS NOT NULL").Scan(&keys))
		return keys == 2
	})
	client.Test("down drops the table, and nothing else", func() bool {
		client.Must(provider.Down(ctx))
		return tables() == 0
	})
	client.Done()
}
