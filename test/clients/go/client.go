// Package client is the runner of statements.sql for Go, and TAP
package client

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

type Row = map[string]any

// Query runs a statement, and returns its rows.  It ends by a panic if something fails, see Must.
type Query func(text string, values ...any) []Row

type Client struct {
	Query Query
	Place string                              // the form of a parameter, if not $1
	Range func(since, until time.Time) any    // the range of two times, if not a text
	Ways  map[string]Query                    // more forms of Query for a period by two timestamps
	Told  func(error) (sqlstate, hint string) // what the client says of an error, if not pgx
	Own   map[string]any                      // functions in place of statements, which return rows
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

func read(file string) string { return string(Must(os.ReadFile(file))) }

// The runner copies the versions from this line into its table.
func ShowVersions(modules ...string) {
	var versions []string
	for _, module := range modules {
		line := regexp.MustCompile(`/` + module + `(?:/v\d+)? v(\S+)`).FindStringSubmatch(read("go.mod"))
		versions = append(versions, module+" "+line[1])
	}
	fmt.Println("# versions: " + strings.Join(versions, ", "))
}

// Rows of database/sql, with keys as uuid.UUID
func Rows(rows *sql.Rows, err error) (all []Row) {
	Check(err)
	defer rows.Close()
	columns := Must(rows.ColumnTypes())
	for rows.Next() {
		values, row := make([]any, len(columns)), Row{}
		for i, column := range columns {
			values[i] = new(any)
			if column.DatabaseTypeName() == "UUID" {
				values[i] = new(uuid.UUID)
			}
		}
		Check(rows.Scan(values...))
		for i, column := range columns {
			row[column.Name()] = reflect.ValueOf(values[i]).Elem().Interface()
		}
		all = append(all, row)
	}
	Check(rows.Err())
	return all
}

// Structs returns the fields of a mapper's structs as rows.
func Structs[T any](structs ...T) (all []Row) {
	for _, s := range structs {
		row, value := Row{}, reflect.ValueOf(s)
		for i := range value.NumField() {
			row[strings.ToLower(value.Type().Field(i).Name)] = value.Field(i).Interface()
		}
		all = append(all, row)
	}
	return all
}

func pgxTold(err error) (string, string) {
	var told *pgconn.PgError
	errors.As(err, &told)
	return told.Code, told.Hint
}

// TextRange is the form that PostgreSQL reads.
func TextRange(since, until time.Time) any {
	return fmt.Sprintf("[%s,%s)", since.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano))
}

func call(own any, values []any) []Row {
	function, arguments := reflect.ValueOf(own), []reflect.Value{}
	for i, value := range values {
		arguments = append(arguments, reflect.ValueOf(value).Convert(function.Type().In(i)))
	}
	return function.Call(arguments)[0].Interface().([]Row)
}

var (
	statement = regexp.MustCompile(`(?m)^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$`)
	parameter = regexp.MustCompile(`\$(?:(\w+)|\[(\w+),(\w+)\))`)
)

func CheckClient(c Client) {
	known := Row{"clock": time.Now()}
	if c.Range == nil {
		c.Range = TextRange
	}
	if c.Told == nil {
		c.Told = pgxTold
	}
	for _, part := range statement.FindAllStringSubmatch(read("statements.sql"), -1) {
		name, title, expected := part[1], part[2], strings.TrimSpace(part[4])
		var mine, values []any
		text := parameter.ReplaceAllStringFunc(part[3], func(match string) string {
			names := parameter.FindStringSubmatch(match)
			if names[1] != "" {
				mine, values = append(mine, known[names[1]]), append(values, known[names[1]])
			} else {
				since, until := known[names[2]], known[names[3]]
				mine, values = append(mine, since, until), append(values, c.Range(since.(time.Time), until.(time.Time)))
			}
			if c.Place != "" {
				return c.Place
			}
			return fmt.Sprintf("$%d", len(values))
		})
		run := func(query func() []Row) func() bool {
			return func() (passed bool) {
				var items []string
				defer func() {
					if problem := recover(); problem != nil {
						if name != "error" {
							panic(problem)
						}
						sqlstate, hint := c.Told(problem.(error))
						passed = strings.HasPrefix(sqlstate+" "+hint, expected+",")
					}
				}()
				for _, row := range query() {
					items = append(items, row["item"].(string))
					for column, value := range row {
						known[column] = value
					}
				}
				return strings.Join(items, " ") == expected
			}
		}
		Test(title, run(func() []Row {
			if own := c.Own[name]; own != nil {
				return call(own, mine)
			}
			return c.Query(text, values...)
		}))
		for way, query := range c.Ways {
			if name == "during" {
				Test(title+", "+way, run(func() []Row { return query(text, values...) }))
			}
		}
	}
}
