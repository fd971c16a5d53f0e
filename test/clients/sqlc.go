// sqlc, by pgx: the package clients/sqlc/orders is what it makes of the files in sqlc

package main

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	client "clients/go"
	"clients/sqlc/orders"
)

func main() {
	ctx := context.Background()
	db := client.Must(pgx.Connect(ctx, ""))
	queries := orders.New(db)

	at := func(value any) pgtype.Timestamptz { return pgtype.Timestamptz{Time: value.(time.Time), Valid: true} }

	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row {
			return client.Must(pgx.CollectRows(client.Must(db.Query(ctx, text, values...)), pgx.RowToMap))
		},
		Own: map[string]client.Query{
			"bulk": func(_ string, values ...any) []client.Row {
				return client.Rows(client.Must(queries.Insert(ctx, strings.Fields(values[0].(string)))))
			},
			"during": func(_ string, values ...any) []client.Row {
				period := orders.BetweenParams{Since: at(values[0]), Until: at(values[1])}
				return client.Rows(client.Must(queries.Between(ctx, period)))
			},
		},
	})
}
