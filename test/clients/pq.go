// lib/pq, by database/sql

package main

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/lib/pq"

	client "clients/go"
)

func main() {
	client.ShowVersions("pq")
	db := client.Must(sql.Open("postgres", ""))
	db.SetMaxOpenConns(1)
	// The plan of a prepared statement must do for every period.
	client.Must(db.Exec("SET plan_cache_mode = force_generic_plan"))

	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row { return client.Rows(db.Query(text, values...)) },
		Ways: map[string]client.Query{"prepared": func(text string, values ...any) []client.Row {
			statement := client.Must(db.Prepare(text))
			defer statement.Close()
			return client.Rows(statement.Query(values...))
		}},
		Told: func(err error) (string, string) {
			var told *pq.Error
			errors.As(err, &told)
			return string(told.Code), told.Hint
		},
		Own: map[string]any{"copy": func(items string) []client.Row {
			tx := client.Must(db.Begin())
			statement := client.Must(tx.Prepare("COPY orders (item) FROM STDIN"))
			for _, item := range strings.Fields(items) {
				client.Must(statement.Exec(item))
			}
			client.Must(statement.Exec())
			client.Check(statement.Close())
			client.Check(tx.Commit())
			return nil
		}},
	})
	client.Done()
}
