// pgx

package main

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	client "clients/go"
)

func main() {
	ctx := context.Background()
	db := client.Must(pgx.Connect(ctx, ""))

	// As a pooler in transaction mode needs it
	in := func(mode pgx.QueryExecMode) client.Query {
		return func(text string, values ...any) []client.Row {
			return client.Must(pgx.CollectRows(client.Must(db.Query(ctx, text, append([]any{mode}, values...)...)), pgx.RowToMap))
		}
	}

	client.CheckClient(client.Client{
		Query: in(pgx.QueryExecModeCacheStatement),
		Range: func(since, until time.Time) any {
			return pgtype.Range[time.Time]{
				Lower: since, LowerType: pgtype.Inclusive,
				Upper: until, UpperType: pgtype.Exclusive, Valid: true,
			}
		},
		Ways: map[string]client.Query{
			"unprepared":  in(pgx.QueryExecModeExec),
			"in the text": in(pgx.QueryExecModeSimpleProtocol),
		},
		Own: map[string]client.Query{"copy": func(_ string, values ...any) []client.Row {
			items := strings.Fields(values[0].(string))
			row := func(i int) ([]any, error) { return []any{items[i]}, nil }
			client.Must(db.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"item"}, pgx.CopyFromSlice(len(items), row)))
			return nil
		}},
	})
}
