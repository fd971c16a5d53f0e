// pgx

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4"
)

type Order struct {
	ID     string
	Number int64
	Item   string
	Amount int
}

const columns = "id, number, item, amount"

var (
	ctx    = context.Background()
	db     *pgx.Conn
	count  int
	failed int
	key    = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
)

func test(name string, passed bool) {
	count++
	if !passed {
		failed++
		fmt.Print("not ")
	}
	fmt.Printf("ok %d - %s\n", count, name)
}

// check ends the program, which then fails by its status.
func check(err error) {
	if err != nil {
		fmt.Printf("# %v\n", err)
		os.Exit(1)
	}
}

func query(query string, values ...interface{}) (orders []Order) {
	rows, err := db.Query(ctx, query, values...)
	check(err)
	for rows.Next() {
		var o Order
		check(rows.Scan(&o.ID, &o.Number, &o.Item, &o.Amount))
		orders = append(orders, o)
	}
	check(rows.Err())
	return orders
}

func items(orders []Order) string {
	var names []string
	for _, o := range orders {
		names = append(names, o.Item)
	}
	return strings.Join(names, " ")
}

func between(since, until time.Time) []Order {
	return query("SELECT "+columns+" FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)
}

func during(since, until time.Time) []Order {
	period := pgtype.Tstzrange{
		Lower: pgtype.Timestamptz{Time: since, Status: pgtype.Present}, LowerType: pgtype.Inclusive,
		Upper: pgtype.Timestamptz{Time: until, Status: pgtype.Present}, UpperType: pgtype.Exclusive,
		Status: pgtype.Present,
	}
	return query("SELECT "+columns+" FROM orders WHERE comb_created(id, $1) ORDER BY id", period)
}

func main() {
	var err error
	fmt.Println("# versions: pgx " + os.Getenv("PGX_VERSION"))
	db, err = pgx.Connect(ctx, "")
	check(err)
	_, err = db.Exec(ctx, `CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT comb_generate(),
		number bigint NOT NULL DEFAULT comb_snowflake(),
		item text NOT NULL UNIQUE,
		amount int NOT NULL DEFAULT 1)`)
	check(err)

	var id string
	err = db.QueryRow(ctx, "INSERT INTO orders (item) VALUES ($1) RETURNING id", "bread").Scan(&id)
	check(err)
	test("an insert gives the id back", key.MatchString(id))

	goods := []string{"salt", "oil", "rice", "tea", "milk"}
	all := "bread " + strings.Join(goods, " ")
	made := query("INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING "+columns, goods)
	ids := []string{id}
	keys := true
	for _, o := range made {
		ids = append(ids, o.ID)
		keys = keys && key.MatchString(o.ID)
	}
	test("rows of one statement have keys in order", keys && len(ids) == 6 && sort.StringsAreSorted(ids))

	tx, err := db.Begin(ctx)
	check(err)
	copied, err := tx.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"item"},
		pgx.CopyFromRows([][]interface{}{{"flour"}, {"yeast"}}))
	check(err)
	check(tx.Rollback(ctx))
	test("COPY makes keys", copied == 2)

	again := query(`INSERT INTO orders (item, amount) VALUES ($1, $2)
		ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING `+columns, "bread", 7)
	test("an upsert keeps the id", again[0].ID == id && again[0].Amount == 7)

	var created time.Time
	check(db.QueryRow(ctx, "SELECT comb_timestamp($1)", id).Scan(&created))
	now := time.Now()
	test("the key has the time", now.Sub(created) < time.Minute && created.Sub(now) < time.Minute)

	for _, period := range []struct {
		name string
		of   func(since, until time.Time) []Order
	}{{"two timestamps", between}, {"a range", during}} {
		test("a period by "+period.name,
			items(period.of(now.Add(-time.Minute), now.Add(time.Minute))) == all &&
				len(period.of(now.Add(-2*time.Hour), now.Add(-time.Hour))) == 0 &&
				strings.HasPrefix(items(period.of(created, created.Add(time.Millisecond))), "bread") &&
				len(period.of(now.Add(-time.Hour), created)) == 0)
	}

	var seen []Order
	after := "00000000-0000-0000-0000-000000000000"
	for {
		page := query("SELECT "+columns+" FROM orders WHERE id > $1 ORDER BY id LIMIT $2", after, 4)
		if len(page) == 0 {
			break
		}
		seen = append(seen, page...)
		after = page[len(page)-1].ID
	}
	test("pages by the key", items(seen) == all)

	var found []Order
	for _, o := range seen {
		found = append(found, query("SELECT "+columns+" FROM orders WHERE number = $1", o.Number)...)
	}
	test("a Snowflake keeps its digits", items(found) == all && seen[0].Number > 1<<53)

	_, err = db.Exec(ctx, "SELECT comb_generate('sequential')")
	var told *pgconn.PgError
	test("an error has its SQLSTATE and hint", errors.As(err, &told) &&
		told.Code == "22023" && strings.HasPrefix(told.Hint, "The layouts are uuidv7, "))

	fmt.Printf("1..%d\n", count)
	if failed > 0 {
		os.Exit(1)
	}
}
