// Package client has what the programs for Go share: the checks, and TAP
//
// A program makes the table orders (id, number, item, amount, ref), as its client's users
// would, and gives Check() one function for each task.
package client

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"
)

type Order struct {
	ID     uuid.UUID
	Number int64
	Item   string
	Amount int32
	Ref    uuid.UUID
}

// A Period returns the rows from since on and before until.
type Period func(since, until time.Time) []Order

// Tasks end by a panic if something fails, see Must.
type Tasks struct {
	Insert  func(item string) Order                 // inserts a row
	Bulk    func(items []string) []Order            // inserts rows in one statement, in order
	Upsert  func(item string, amount int32) Order   // inserts or updates by item
	Time    func(id uuid.UUID) time.Time            // the time of the key
	Periods map[string]Period                       // ways to read a period
	Page    func(after uuid.UUID, size int) []Order // the next rows by the key
	Find    func(number int64) Order                // the row of a Snowflake
	ByText  func(id string) Order                   // the row of a key that is a text
	Copy    func(items []string) []Order            // inserts rows by COPY, in order, or nil
	Fail    func() error                            // calls comb_generate('sequential')
	Told    func(err error) (sqlstate, hint string) // what the client says of the error
}

var count, failed int

func Test(name string, check func() bool) {
	passed := false
	count++
	func() {
		defer func() {
			if problem := recover(); problem != nil {
				fmt.Printf("# %v\n", problem)
			}
		}()
		passed = check()
	}()
	if !passed {
		failed++
		fmt.Print("not ")
	}
	fmt.Printf("ok %d - %s\n", count, name)
}

func Done() {
	fmt.Printf("1..%d\n", count)
	if failed > 0 {
		os.Exit(1)
	}
}

func Check(err error) {
	if err != nil {
		panic(err)
	}
}

func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// The runner copies the versions from this line into its table.
func ShowVersions(modules ...string) {
	file := string(Must(os.ReadFile("go.mod")))
	var versions []string
	for _, module := range modules {
		line := regexp.MustCompile(`/` + module + `(?:/v\d+)? v(\S+)`).FindStringSubmatch(file)
		versions = append(versions, module+" "+line[1])
	}
	fmt.Println("# versions: " + strings.Join(versions, ", "))
}

// Migration returns the text of a migration up to the part that undoes it.
func Migration(file string) string {
	up, _, _ := strings.Cut(string(Must(os.ReadFile(file))), "-- +goose Down")
	return up
}

func isKey(id uuid.UUID) bool {
	return id.Version() == 7 && id.Variant() == uuid.RFC4122
}

func inOrder(orders []Order) bool {
	for i, o := range orders {
		if !isKey(o.ID) || i > 0 && orders[i-1].ID.String() >= o.ID.String() {
			return false
		}
	}
	return true
}

func items(orders []Order) string {
	var names []string
	for _, o := range orders {
		names = append(names, o.Item)
	}
	return strings.Join(names, " ")
}

func isNow(at time.Time) bool {
	return time.Since(at).Abs() < time.Minute
}

// The time of a key in the layout rtcomb_sql
func layoutTime(ref uuid.UUID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ref[8:]) & (1<<48 - 1)))
}

func CheckClient(t Tasks) {
	goods := []string{"salt", "oil", "rice", "tea", "milk"}
	all := "bread " + strings.Join(goods, " ")
	var orders []Order

	Test("an insert gives the id back", func() bool {
		orders = []Order{t.Insert("bread")}
		return isKey(orders[0].ID)
	})
	Test("rows of one statement have keys in order", func() bool {
		orders = append(orders, t.Bulk(goods)...)
		return items(orders) == all && inOrder(orders)
	})
	Test("an upsert keeps the id", func() bool {
		o := t.Upsert("bread", 7)
		return o.ID == orders[0].ID && o.Amount == 7
	})
	Test("the key has the time", func() bool { return isNow(t.Time(orders[0].ID)) })

	var names []string
	for name := range t.Periods {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		period := t.Periods[name]
		Test("a period by "+name, func() bool {
			now, created := time.Now(), t.Time(orders[0].ID)
			return items(period(now.Add(-time.Minute), now.Add(time.Minute))) == all &&
				len(period(now.Add(-2*time.Hour), now.Add(-time.Hour))) == 0 &&
				strings.HasPrefix(items(period(created, created.Add(time.Millisecond))), "bread") &&
				len(period(now.Add(-time.Hour), created)) == 0
		})
	}

	Test("pages by the key", func() bool {
		var seen []Order
		for page := t.Page(uuid.Nil, 4); len(page) > 0; page = t.Page(page[len(page)-1].ID, 4) {
			seen = append(seen, page...)
		}
		return items(seen) == all
	})
	Test("a key as text finds its row", func() bool { return t.ByText(orders[0].ID.String()).Item == "bread" })
	Test("a DEFAULT with a layout makes its keys", func() bool {
		for _, o := range orders {
			if isKey(o.Ref) || !isNow(layoutTime(o.Ref)) {
				return false
			}
		}
		return true
	})
	Test("a Snowflake keeps its digits", func() bool {
		var found []Order
		for _, o := range orders {
			found = append(found, t.Find(o.Number))
		}
		return items(found) == all && orders[0].Number > 1<<53
	})
	Test("an error has its SQLSTATE and hint", func() bool {
		sqlstate, hint := t.Told(t.Fail())
		return sqlstate == "22023" && strings.HasPrefix(hint, "The layouts are uuidv7, ")
	})
	if t.Copy != nil {
		Test("COPY makes keys", func() bool {
			copied := t.Copy([]string{"flour", "yeast"})
			return items(copied) == "flour yeast" && inOrder(copied)
		})
	}
}
