// goose, by pgx

package main

import (
	"context"
	"database/sql"
	"os"
	"testing/fstest"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	client "clients/go"
)

func main() {
	ctx := context.Background()
	table := string(client.Must(os.ReadFile("orders.sql")))
	provider := client.Must(goose.NewProvider(goose.DialectPostgres, client.Must(sql.Open("pgx", "")), fstest.MapFS{
		"1_orders.sql": {Data: []byte("-- +goose Up\n" + table + "-- +goose Down\nDROP TABLE orders;\n")}}))
	up := func() int { return len(client.Must(provider.Up(ctx))) }

	client.Test("up makes the table", func() bool { return up() == 1 })
	client.Test("a second up has nothing to do", func() bool { return up() == 0 })
	client.Test("down drops the table, and up makes it again", func() bool {
		client.Must(provider.Down(ctx))
		return up() == 1
	})
}
