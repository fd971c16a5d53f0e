// Bun, by pgx

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	client "clients/go"
)

type Order struct {
	bun.BaseModel `bun:"table:orders"`

	ID     uuid.UUID `bun:"type:uuid,pk,default:comb_generate()"`
	Number int64     `bun:",notnull,nullzero,default:comb_snowflake()"`
	Item   string    `bun:",notnull,unique"`
	Amount int32     `bun:",notnull,nullzero,default:1"`
	Ref    uuid.UUID `bun:"type:uuid,notnull,nullzero,default:comb_generate('rtcomb_sql')"`
}

var ctx = context.Background()

func of(orders []Order) (rows []client.Order) {
	for _, o := range orders {
		rows = append(rows, client.Order{ID: o.ID, Number: o.Number, Item: o.Item, Amount: o.Amount, Ref: o.Ref})
	}
	return rows
}

func main() {
	client.ShowVersions("bun", "pgx")
	db := bun.NewDB(client.Must(sql.Open("pgx", "")), pgdialect.New())
	client.Must(db.NewCreateTable().Model((*Order)(nil)).Exec(ctx))

	find := func(query *bun.SelectQuery) []client.Order {
		var orders []Order
		client.Check(query.Model(&orders).Scan(ctx))
		return of(orders)
	}
	insert := func(orders []Order) []client.Order {
		client.Must(db.NewInsert().Model(&orders).Exec(ctx))
		return of(orders)
	}

	client.CheckClient(client.Tasks{
		Insert: func(item string) client.Order {
			order := &Order{Item: item}
			client.Must(db.NewInsert().Model(order).Exec(ctx))
			return of([]Order{*order})[0]
		},
		Bulk: func(items []string) []client.Order {
			orders := make([]Order, len(items))
			for i, item := range items {
				orders[i].Item = item
			}
			return insert(orders)
		},
		Upsert: func(item string, amount int32) client.Order {
			order := &Order{Item: item, Amount: amount}
			client.Must(db.NewInsert().Model(order).On("CONFLICT (item) DO UPDATE").
				Set("amount = excluded.amount").Returning("*").Exec(ctx))
			return of([]Order{*order})[0]
		},
		Time: func(id uuid.UUID) (created time.Time) {
			client.Check(db.NewSelect().Model((*Order)(nil)).ColumnExpr("comb_timestamp(id)").
				Where("id = ?", id).Scan(ctx, &created))
			return created
		},
		// Bun puts the values into the text of the query.
		Periods: map[string]client.Period{
			"two timestamps": func(since, until time.Time) []client.Order {
				return find(db.NewSelect().Where("comb_during(id, ?, ?)", since, until).Order("id"))
			},
			"a range": func(since, until time.Time) []client.Order {
				period := fmt.Sprintf("[%s,%s)", since.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano))
				return find(db.NewSelect().Where("comb_created(id, ?)", period).Order("id"))
			},
		},
		Page: func(after uuid.UUID, size int) []client.Order {
			return find(db.NewSelect().Where("id > ?", after).Order("id").Limit(int64(size)))
		},
		Find: func(number int64) client.Order {
			return find(db.NewSelect().Where("number = ?", number))[0]
		},
		ByText: func(id string) client.Order {
			return find(db.NewSelect().Where("id = ?", id))[0]
		},
		Fail: func() error {
			_, err := db.Exec("SELECT comb_generate('sequential')")
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
