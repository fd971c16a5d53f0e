// goose, by pgx

package main

import (
	"context"
	"database/sql"
	"testing/fstest"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	client "clients/go"
)

func main() {
	client.ShowVersions("goose", "pgx")
	ctx := context.Background()
	db := client.Must(sql.Open("pgx", ""))
	provider := client.Must(goose.NewProvider(goose.DialectPostgres, db, fstest.MapFS{"1_orders.sql": {
		Data: []byte("-- +goose Up\n" + client.Table() + ";\n-- +goose Down\nDROP TABLE orders;\n")}}))

	value := func(query string) (value int) {
		client.Check(db.QueryRow(query).Scan(&value))
		return value
	}
	tables := func() int { return value("SELECT count(*) FROM pg_tables WHERE tablename = 'orders'") }

	client.Test("up makes the table", func() bool { return len(client.Must(provider.Up(ctx))) == 1 && tables() == 1 })
	client.Test("a second up has nothing to do", func() bool { return len(client.Must(provider.Up(ctx))) == 0 })
	client.Test("the table makes keys", func() bool {
		return value(`INSERT INTO orders (item) VALUES ('bread')
			RETURNING (comb_timestamp(id) + (now() - comb_timestamp(ref, 'rtcomb_sql')) IS NOT NULL)::int`) == 1
	})
	client.Test("down drops the table, and nothing else", func() bool {
		client.Must(provider.Down(ctx))
		return tables() == 0
	})
}
