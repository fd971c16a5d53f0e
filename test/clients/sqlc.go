// sqlc, by pgx: the package clients/sqlc/orders is what it makes of the files in sqlc

package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	client "clients/go"
	"clients/sqlc/orders"
)

func of(rows []orders.Order, err error) (all []client.Order) {
	client.Check(err)
	for _, o := range rows {
		all = append(all, client.Order(o))
	}
	return all
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
	client.Must(db.Exec(ctx, client.Migration("goose/00001_orders.sql")))
	queries := orders.New(db)

	client.CheckClient(client.Tasks{
		Insert: func(item string) client.Order { return client.Order(client.Must(queries.Insert(ctx, item))) },
		Bulk:   func(items []string) []client.Order { return of(queries.Bulk(ctx, items)) },
		Upsert: func(item string, amount int32) client.Order {
			return client.Order(client.Must(queries.Upsert(ctx, orders.UpsertParams{Item: item, Amount: amount})))
		},
		Time: func(id uuid.UUID) time.Time { return client.Must(queries.Time(ctx, id)).Time },
		Periods: map[string]client.Period{
			"two timestamps": func(since, until time.Time) []client.Order {
				return of(queries.Between(ctx, orders.BetweenParams{Since: at(since), Until: at(until)}))
			},
			"a range": func(since, until time.Time) []client.Order {
				return of(queries.During(ctx, pgtype.Range[pgtype.Timestamptz]{
					Lower: at(since), LowerType: pgtype.Inclusive,
					Upper: at(until), UpperType: pgtype.Exclusive, Valid: true,
				}))
			},
		},
		Page: func(after uuid.UUID, size int) []client.Order {
			return of(queries.Page(ctx, orders.PageParams{After: after, Size: int32(size)}))
		},
		Find:   func(number int64) client.Order { return client.Order(client.Must(queries.Find(ctx, number))) },
		ByText: func(id string) client.Order { return client.Order(client.Must(queries.Get(ctx, uuid.MustParse(id)))) },
		Copy: func(items []string) []client.Order {
			client.Must(queries.Copy(ctx, items))
			return of(queries.Items(ctx, items))
		},
		Fail: func() error {
			_, err := queries.Fail(ctx)
			return err
		},
		Told: func(err error) (string, string) {
			var told *pgconn.PgError
			errors.As(err, &told)
			return told.Code, told.Hint
		},
	})
	client.Done()
}
