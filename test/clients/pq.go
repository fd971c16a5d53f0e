// lib/pq, by database/sql

package main

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	client "clients/go"
)

var db *sql.DB

func rows(rows *sql.Rows, err error) (orders []client.Order) {
	client.Check(err)
	defer rows.Close()
	for rows.Next() {
		var o client.Order
		client.Check(rows.Scan(&o.ID, &o.Number, &o.Item, &o.Amount, &o.Ref))
		orders = append(orders, o)
	}
	client.Check(rows.Err())
	return orders
}

func query(query string, values ...any) []client.Order {
	return rows(db.Query(query, values...))
}

func between(since, until time.Time) []client.Order {
	return query("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)
}

// lib/pq has no ranges, so this one is a text.
func during(since, until time.Time) []client.Order {
	period := fmt.Sprintf("[%s,%s)", since.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano))
	return query("SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", period)
}

func prepared(since, until time.Time) []client.Order {
	statement := client.Must(db.Prepare("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id"))
	defer statement.Close()
	return rows(statement.Query(since, until))
}

func main() {
	client.ShowVersions("pq")
	db = client.Must(sql.Open("postgres", ""))
	db.SetMaxOpenConns(1)
	// The plan of a prepared statement must do for every period.
	client.Must(db.Exec("SET plan_cache_mode = force_generic_plan"))
	client.Must(db.Exec(`CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT comb_generate(),
		number bigint NOT NULL DEFAULT comb_snowflake(),
		item text NOT NULL UNIQUE,
		amount int NOT NULL DEFAULT 1,
		ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))`))

	client.CheckClient(client.Tasks{
		Insert: func(item string) (o client.Order) {
			client.Check(db.QueryRow("INSERT INTO orders (item) VALUES ($1) RETURNING id, number, ref", item).
				Scan(&o.ID, &o.Number, &o.Ref))
			o.Item = item
			return o
		},
		Bulk: func(items []string) []client.Order {
			return query("INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING *", pq.Array(items))
		},
		Upsert: func(item string, amount int32) client.Order {
			return query(`INSERT INTO orders (item, amount) VALUES ($1, $2)
				ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *`, item, amount)[0]
		},
		Time: func(id uuid.UUID) (created time.Time) {
			client.Check(db.QueryRow("SELECT comb_timestamp($1)", id).Scan(&created))
			return created
		},
		Periods: map[string]client.Period{
			"two timestamps":           between,
			"a range":                  during,
			"two timestamps, prepared": prepared,
		},
		Page: func(after uuid.UUID, size int) []client.Order {
			return query("SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2", after, size)
		},
		Find: func(number int64) client.Order {
			return query("SELECT * FROM orders WHERE number = $1", number)[0]
		},
		ByText: func(id string) client.Order {
			return query("SELECT * FROM orders WHERE id = $1", id)[0]
		},
		Copy: func(items []string) []client.Order {
			tx := client.Must(db.Begin())
			statement := client.Must(tx.Prepare("COPY orders (item) FROM STDIN"))
			for _, item := range items {
				client.Must(statement.Exec(item))
			}
			client.Must(statement.Exec())
			client.Check(statement.Close())
			client.Check(tx.Commit())
			return query("SELECT * FROM orders WHERE item = any($1) ORDER BY id", pq.Array(items))
		},
		Fail: func() error {
			_, err := db.Exec("SELECT comb_generate('sequential')")
			return err
		},
		Told: func(err error) (string, string) {
			var told *pq.Error
			errors.As(err, &told)
			return string(told.Code), told.Hint
		},
	})
	client.Done()
}
