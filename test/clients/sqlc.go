// sqlc, by pgx: the package clients/sqlc/orders is what it makes of the files in sqlc

package main

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	client "clients/go"
	"clients/sqlc/orders"
)

func of(rows []orders.Order, err error) []client.Row {
	client.Check(err)
	return client.Structs(rows...)
}

func at(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: true}
}

func main() {
	client.ShowVersions("sqlc", "pgx")
	ctx := context.Background()
	db := client.Must(pgx.Connect(ctx, ""))
	// The plan of a prepared statement must do for every period.
	client.Must(db.Exec(ctx, "SET plan_cache_mode = force_generic_plan"))
	queries := orders.New(db)

	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row {
			return client.Must(pgx.CollectRows(client.Must(db.Query(ctx, text, values...)), pgx.RowToMap))
		},
		Own: map[string]any{
			"insert": func(item string) []client.Row { return client.Structs(client.Must(queries.Insert(ctx, item))) },
			"bulk":   func(items string) []client.Row { return of(queries.Bulk(ctx, strings.Fields(items))) },
			"time": func(id uuid.UUID) []client.Row {
				row := client.Must(queries.Time(ctx, id))
				return []client.Row{{"item": row.Item, "created": row.Created.Time}}
			},
			"during": func(since, until time.Time) []client.Row {
				return of(queries.Between(ctx, orders.BetweenParams{Since: at(since), Until: at(until)}))
			},
			"created": func(since, until time.Time) []client.Row {
				return of(queries.During(ctx, pgtype.Range[pgtype.Timestamptz]{
					Lower: at(since), LowerType: pgtype.Inclusive,
					Upper: at(until), UpperType: pgtype.Exclusive, Valid: true,
				}))
			},
			"page": func(after uuid.UUID, size int32) []client.Row {
				return of(queries.Page(ctx, orders.PageParams{After: after, Size: size}))
			},
			"find": func(id uuid.UUID, number int64) []client.Row {
				return of(queries.Find(ctx, orders.FindParams{ID: id, Number: number}))
			},
			"copy": func(items string) []client.Row {
				client.Must(queries.Copy(ctx, strings.Fields(items)))
				return nil
			},
		},
	})
	client.Done()
}
