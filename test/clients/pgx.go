// pgx

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
)

var (
	ctx = context.Background()
	db  *pgx.Conn
)

func query(query string, values ...any) []client.Order {
	rows, err := db.Query(ctx, query, values...)
	client.Check(err)
	return client.Must(pgx.CollectRows(rows, pgx.RowToStructByName[client.Order]))
}

func between(since, until time.Time) []client.Order {
	return query("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)
}

func during(since, until time.Time) []client.Order {
	period := pgtype.Range[time.Time]{
		Lower: since, LowerType: pgtype.Inclusive,
		Upper: until, UpperType: pgtype.Exclusive, Valid: true,
	}
	return query("SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", period)
}

// As a pooler in transaction mode needs it
func in(mode pgx.QueryExecMode) client.Period {
	return func(since, until time.Time) []client.Order {
		return query("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", mode, since, until)
	}
}

func main() {
	client.ShowVersions("pgx")
	db = client.Must(pgx.Connect(ctx, ""))
	// The plan of a prepared statement must do for every period.
	client.Must(db.Exec(ctx, "SET plan_cache_mode = force_generic_plan"))
	client.Must(db.Exec(ctx, `CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT comb_generate(),
		number bigint NOT NULL DEFAULT comb_snowflake(),
		item text NOT NULL UNIQUE,
		amount int NOT NULL DEFAULT 1,
		ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))`))

	client.CheckClient(client.Tasks{
		Insert: func(item string) client.Order {
			return query("INSERT INTO orders (item) VALUES ($1) RETURNING *", item)[0]
		},
		Bulk: func(items []string) []client.Order {
			return query("INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING *", items)
		},
		Upsert: func(item string, amount int32) client.Order {
			return query(`INSERT INTO orders (item, amount) VALUES ($1, $2)
				ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *`, item, amount)[0]
		},
		Time: func(id uuid.UUID) (created time.Time) {
			client.Check(db.QueryRow(ctx, "SELECT comb_timestamp($1)", id).Scan(&created))
			return created
		},
		Periods: map[string]client.Period{
			"two timestamps":              between,
			"a range":                     during,
			"two timestamps, unprepared":  in(pgx.QueryExecModeExec),
			"two timestamps, in the text": in(pgx.QueryExecModeSimpleProtocol),
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
			client.Must(db.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"item"},
				pgx.CopyFromSlice(len(items), func(i int) ([]any, error) { return []any{items[i]}, nil })))
			return query("SELECT * FROM orders WHERE item = any($1) ORDER BY id", items)
		},
		Fail: func() error {
			_, err := db.Exec(ctx, "SELECT comb_generate('sequential')")
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
