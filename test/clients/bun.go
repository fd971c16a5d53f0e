// Bun, by pgx

package main

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"
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

func main() {
	client.ShowVersions("bun", "pgx")
	db := bun.NewDB(client.Must(sql.Open("pgx", "")), pgdialect.New())

	find := func(query *bun.SelectQuery) []client.Row {
		var orders []Order
		client.Check(query.Model(&orders).Scan(ctx))
		return client.Structs(orders...)
	}
	insert := func(items string) []client.Row {
		var orders []Order
		for _, item := range strings.Fields(items) {
			orders = append(orders, Order{Item: item})
		}
		client.Must(db.NewInsert().Model(&orders).Exec(ctx))
		return client.Structs(orders...)
	}

	// Bun puts the values into the text of the query.
	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row { return client.Rows(db.Query(text, values...)) },
		Place: "?",
		Own: map[string]any{
			"table": func() []client.Row {
				client.Must(db.NewCreateTable().Model((*Order)(nil)).Exec(ctx))
				return nil
			},
			"insert": insert,
			"bulk":   insert,
			"upsert": func(item string, amount int32) []client.Row {
				order := &Order{Item: item, Amount: amount}
				client.Must(db.NewInsert().Model(order).On("CONFLICT (item) DO UPDATE").
					Set("amount = excluded.amount").Returning("*").Exec(ctx))
				return client.Structs(*order)
			},
			"during": func(since, until time.Time) []client.Row {
				return find(db.NewSelect().Where("comb_during(id, ?, ?)", since, until).Order("id"))
			},
			"created": func(since, until time.Time) []client.Row {
				return find(db.NewSelect().Where("comb_created(id, ?)", client.TextRange(since, until)).Order("id"))
			},
			"page": func(after uuid.UUID, size int) []client.Row {
				return find(db.NewSelect().Where("id > ?", after).Order("id").Limit(int64(size)))
			},
			"find": func(id uuid.UUID, number int64) []client.Row {
				return find(db.NewSelect().Where("id = ?", id).Where("number = ?", number))
			},
		},
	})
	client.Done()
}
