// sqlc, by pgx: the package clients/sqlc/orders is what it makes of the files in sqlc

package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	client "clients/go"
	"clients/sqlc/orders"
)

func at(t time.Time) pgtype.Timestamptz { return pgtype.Timestamptz{Time: t, Valid: true} }

func main() {
	client.ShowVersions("sqlc", "pgx")
	ctx := context.Background()
	db := client.Must(pgx.Connect(ctx, ""))
	queries := orders.New(db)

	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row {
			return client.Must(pgx.CollectRows(client.Must(db.Query(ctx, text, values...)), pgx.RowToMap))
		},
		Own: map[string]any{
			"insert": func(items []string) []orders.Order { return client.Must(queries.Insert(ctx, items)) },
			"bulk":   func(items []string) []orders.Order { return client.Must(queries.Insert(ctx, items)) },
			"time": func(id uuid.UUID) []client.Row {
				row := client.Must(queries.Time(ctx, id))
				return []client.Row{{"item": row.Item, "created": row.Created.Time}}
			},
			"during": func(since, until time.Time) []orders.Order {
				return client.Must(queries.Between(ctx, orders.BetweenParams{Since: at(since), Until: at(until)}))
			},
			"created": func(since, until time.Time) []orders.Order {
				return client.Must(queries.During(ctx, pgtype.Range[pgtype.Timestamptz]{
					Lower: at(since), LowerType: pgtype.Inclusive,
					Upper: at(until), UpperType: pgtype.Exclusive, Valid: true,
				}))
			},
		},
	})
}
