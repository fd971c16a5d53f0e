// Package client is the runner of statements.sql for Go, and TAP
package client

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"
)

type Row = map[string]any

// Query runs a statement, and returns its rows.  It ends by a panic if something fails, see Must.
type Query func(text string, values ...any) []Row

type Client struct {
	Query Query
	Place string                           // the form of a parameter, if not $1
	Range func(since, until time.Time) any // the range of two times, if not a text
	Ways  map[string]Query                 // more forms of Query for a period by two timestamps
	Own   map[string]Query                 // forms in place of the statements of these names
}

var (
	known     = Row{} // columns of the statements before
	statement = regexp.MustCompile(`(?m)^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$`)
	parameter = regexp.MustCompile(`\$(?:(\w+)|\[(\w+),(\w+)\))`)
)

func Test(name string, check func() bool) {
	result := "not ok"
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Printf("# %v\n", problem)
		}
		fmt.Printf("%s - %s\n", result, name)
	}()
	if check() {
		result = "ok"
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

// Rows returns a mapper's structs as rows.
func Rows[T any](orders []T) (rows []Row) {
	for _, order := range orders {
		value, row := reflect.ValueOf(order), Row{}
		for i := range value.NumField() {
			row[strings.ToLower(value.Type().Field(i).Name)] = value.Field(i).Interface()
		}
		rows = append(rows, row)
	}
	return rows
}

// The items of the rows, or what the server's error says.  Its fields have the same names in all drivers.
func answer(query Query, text string, values []any) (items string) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Printf("# %v\n", problem)
			err := problem.(error)
			for errors.Unwrap(err) != nil {
				err = errors.Unwrap(err)
			}
			told := reflect.Indirect(reflect.ValueOf(err))
			items, _, _ = strings.Cut(fmt.Sprintf("%v %v", told.FieldByName("Code"), told.FieldByName("Hint")), ",")
		}
	}()
	for _, row := range query(text, values...) {
		items += " " + row["item"].(string)
		for column, value := range row {
			known[column] = value
		}
	}
	return strings.TrimSpace(items)
}

func CheckClient(c Client) {
	known["clock"] = time.Now()
	for _, part := range statement.FindAllStringSubmatch(string(Must(os.ReadFile("statements.sql"))), -1) {
		name, title, expected := part[1], part[2], strings.TrimSpace(part[4])
		var values []any
		text := parameter.ReplaceAllStringFunc(part[3], func(match string) string {
			names := parameter.FindStringSubmatch(match)
			if names[1] != "" {
				values = append(values, known[names[1]])
			} else if since, until := known[names[2]].(time.Time), known[names[3]].(time.Time); c.Range != nil {
				values = append(values, c.Range(since, until))
			} else {
				values = append(values, "["+since.Format(time.RFC3339Nano)+","+until.Format(time.RFC3339Nano)+")")
			}
			if c.Place != "" {
				return c.Place
			}
			return fmt.Sprintf("$%d", len(values))
		})
		query := c.Query
		if own := c.Own[name]; own != nil {
			query = own
		}
		Test(title, func() bool { return answer(query, text, values) == expected })
		for way, query := range c.Ways {
			if name == "during" {
				Test(title+", "+way, func() bool { return answer(query, text, values) == expected })
			}
		}
	}
}
