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
	client.ShowVersions("pgx")
	ctx := context.Background()
	db := client.Must(pgx.Connect(ctx, ""))
	// The plan of a prepared statement must do for every period.
	client.Must(db.Exec(ctx, "SET plan_cache_mode = force_generic_plan"))

	query := func(text string, values ...any) []client.Row {
		return client.Must(pgx.CollectRows(client.Must(db.Query(ctx, text, values...)), pgx.RowToMap))
	}
	// As a pooler in transaction mode needs it
	in := func(mode pgx.QueryExecMode) client.Query {
		return func(text string, values ...any) []client.Row {
			return query(text, append([]any{mode}, values...)...)
		}
	}

	client.CheckClient(client.Client{
		Query: query,
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
		Own: map[string]any{
			"copy": func(items string) []client.Row {
				var rows [][]any
				for _, item := range strings.Fields(items) {
					rows = append(rows, []any{item})
				}
				client.Must(db.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"item"}, pgx.CopyFromRows(rows)))
				return nil
			},
		},
	})
	client.Done()
}
