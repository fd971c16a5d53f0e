// lib/pq, by database/sql

package main

import (
	"database/sql"
	"strings"

	_ "github.com/lib/pq"

	client "clients/go"
)

// The rows, with keys as texts
func of(rows *sql.Rows, err error) (all []client.Row) {
	client.Check(err)
	defer rows.Close()
	columns := client.Must(rows.Columns())
	for rows.Next() {
		values, row := make([]any, len(columns)), client.Row{}
		for i := range columns {
			values[i] = new(any)
		}
		client.Check(rows.Scan(values...))
		for i, column := range columns {
			row[column] = *values[i].(*any)
			if key, ok := row[column].([]byte); ok {
				row[column] = string(key)
			}
		}
		all = append(all, row)
	}
	client.Check(rows.Err())
	return all
}

func main() {
	db := client.Must(sql.Open("postgres", ""))

	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row { return of(db.Query(text, values...)) },
		Ways: map[string]client.Query{"prepared": func(text string, values ...any) []client.Row {
			statement := client.Must(db.Prepare(text))
			defer statement.Close()
			return of(statement.Query(values...))
		}},
		Own: map[string]client.Query{"copy": func(_ string, values ...any) []client.Row {
			tx := client.Must(db.Begin())
			statement := client.Must(tx.Prepare("COPY orders (item) FROM STDIN"))
			for _, item := range strings.Fields(values[0].(string)) {
				client.Must(statement.Exec(item))
			}
			client.Must(statement.Exec())
			client.Check(statement.Close())
			client.Check(tx.Commit())
			return nil
		}},
	})
}
