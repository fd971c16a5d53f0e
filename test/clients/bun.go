// Bun, by pgx

package main

import (
	"context"
	"database/sql"
	"strings"

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
	Ref    uuid.UUID `bun:"type:uuid,notnull,nullzero,default:comb_generate('rtcomb_sql')"`
}

func main() {
	ctx := context.Background()
	db := bun.NewDB(client.Must(sql.Open("pgx", "")), pgdialect.New())

	// Bun puts the values into the text of the query.
	client.CheckClient(client.Client{
		Query: func(text string, values ...any) (rows []client.Row) {
			client.Check(db.NewRaw(text, values...).Scan(ctx, &rows))
			return rows
		},
		Place: "?",
		Own: map[string]client.Query{
			"table": func(string, ...any) []client.Row {
				client.Must(db.NewCreateTable().Model((*Order)(nil)).Exec(ctx))
				return nil
			},
			"bulk": func(_ string, values ...any) []client.Row {
				var orders []Order
				for _, item := range strings.Fields(values[0].(string)) {
					orders = append(orders, Order{Item: item})
				}
				client.Must(db.NewInsert().Model(&orders).Exec(ctx))
				return client.Rows(orders)
			},
			"during": func(_ string, values ...any) []client.Row {
				var orders []Order
				client.Check(db.NewSelect().Model(&orders).Where("comb_during(id, ?, ?)", values...).Order("id").Scan(ctx))
				return client.Rows(orders)
			},
		},
	})
}
