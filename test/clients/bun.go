// Bun, by pgx

package main

import (
	"context"
	"database/sql"
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

func main() {
	client.ShowVersions("bun", "pgx")
	ctx := context.Background()
	db := bun.NewDB(client.Must(sql.Open("pgx", "")), pgdialect.New())

	find := func(query *bun.SelectQuery) (orders []Order) {
		client.Check(query.Model(&orders).Order("id").Scan(ctx))
		return orders
	}
	insert := func(items []string) (orders []Order) {
		for _, item := range items {
			orders = append(orders, Order{Item: item})
		}
		client.Must(db.NewInsert().Model(&orders).Exec(ctx))
		return orders
	}

	// Bun puts the values into the text of the query.
	client.CheckClient(client.Client{
		Query: func(text string, values ...any) (rows []client.Row) {
			client.Check(db.NewRaw(text, values...).Scan(ctx, &rows))
			return rows
		},
		Place: "?",
		Own: map[string]any{
			"table":  func() { client.Must(db.NewCreateTable().Model((*Order)(nil)).Exec(ctx)) },
			"insert": insert,
			"bulk":   insert,
			"find": func(id uuid.UUID, number int64) []Order {
				return find(db.NewSelect().Where("id = ?", id).Where("number = ?", number))
			},
			"during": func(since, until time.Time) []Order {
				return find(db.NewSelect().Where("comb_during(id, ?, ?)", since, until))
			},
		},
	})
}
