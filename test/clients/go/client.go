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

// Query runs a statement, and returns its rows as maps.  It ends by a panic if something fails, see Must.
type Query func(text string, values ...any) []Row

type Client struct {
	Query Query
	Place string                           // the form of a parameter, if not $1
	Range func(since, until time.Time) any // the range of two times, if not a text
	Ways  map[string]Query                 // more forms of Query for a period by two timestamps
	// Functions in place of statements.  They return a mapper's structs, maps, or nothing.  A
	// parameter []string has the words of a text.
	Own map[string]any
}

var (
	count     int
	known     = Row{} // columns of the statements before
	statement = regexp.MustCompile(`(?m)^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$`)
	parameter = regexp.MustCompile(`\$(?:(\w+)|\[(\w+),(\w+)\))`)
)

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
		fmt.Print("not ")
	}
	fmt.Printf("ok %d - %s\n", count, name)
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

// Table is the first statement, which makes the table.
func Table() string { return statement.FindStringSubmatch(read("statements.sql"))[3] }

// The test copies the versions from this line into its table.
func ShowVersions(modules ...string) {
	for i, module := range modules {
		modules[i] += " " + regexp.MustCompile(`/` + module + `(?:/v\d+)? v(\S+)`).FindStringSubmatch(read("go.mod"))[1]
	}
	fmt.Println("# versions: " + strings.Join(modules, ", "))
}

func call(own any, values []any) (rows []Row) {
	function, arguments := reflect.ValueOf(own), []reflect.Value{}
	for i, value := range values {
		wanted := function.Type().In(i)
		if wanted == reflect.TypeFor[[]string]() {
			value = strings.Fields(value.(string))
		}
		arguments = append(arguments, reflect.ValueOf(value).Convert(wanted))
	}
	for _, result := range function.Call(arguments) {
		for i := range result.Len() {
			value, row := result.Index(i), Row{}
			if value.Kind() == reflect.Map {
				row = value.Interface().(Row)
			} else {
				for i := range value.NumField() {
					row[strings.ToLower(value.Type().Field(i).Name)] = value.Field(i).Interface()
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// The items of the rows, or what the server's error says.  Its fields have the same names in all drivers.
func answer(query func() []Row) (items string) {
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
	for _, row := range query() {
		items += " " + row["item"].(string)
		for column, value := range row {
			known[column] = value
		}
	}
	return strings.TrimSpace(items)
}

func CheckClient(c Client) {
	known["clock"] = time.Now()
	for _, part := range statement.FindAllStringSubmatch(read("statements.sql"), -1) {
		name, title, expected := part[1], part[2], strings.TrimSpace(part[4])
		var mine, values []any
		text := parameter.ReplaceAllStringFunc(part[3], func(match string) string {
			names := parameter.FindStringSubmatch(match)
			if names[1] != "" {
				mine, values = append(mine, known[names[1]]), append(values, known[names[1]])
			} else {
				since, until := known[names[2]].(time.Time), known[names[3]].(time.Time)
				mine = append(mine, since, until)
				if c.Range != nil {
					values = append(values, c.Range(since, until))
				} else {
					values = append(values, "["+since.Format(time.RFC3339Nano)+","+until.Format(time.RFC3339Nano)+")")
				}
			}
			if c.Place != "" {
				return c.Place
			}
			return fmt.Sprintf("$%d", len(values))
		})
		run := func(title string, query func() []Row) {
			Test(title, func() bool { return answer(query) == expected })
		}
		run(title, func() []Row {
			if own := c.Own[name]; own != nil {
				return call(own, mine)
			}
			return c.Query(text, values...)
		})
		for way, query := range c.Ways {
			if name == "during" {
				run(title+", "+way, func() []Row { return query(text, values...) })
			}
		}
	}
}
