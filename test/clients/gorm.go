// GORM: its queries and AutoMigrate

package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	client "clients/go"
)

type Order struct {
	ID     uuid.UUID `gorm:"type:uuid;primaryKey;default:comb_generate()"`
	Number int64     `gorm:"not null;default:comb_snowflake()"`
	Item   string    `gorm:"not null;unique"`
	Ref    uuid.UUID `gorm:"type:uuid;not null;default:comb_generate('rtcomb_sql')"`
}

// The statements of AutoMigrate that change something
type changes []string

func (c *changes) Printf(_ string, logged ...any) {
	if text := logged[len(logged)-1].(string); regexp.MustCompile("^(CREATE|ALTER|DROP|COMMENT)").MatchString(text) {
		*c = append(*c, text)
	}
}

func migrate(db *gorm.DB) (made changes) {
	log := logger.New(&made, logger.Config{LogLevel: logger.Info})
	client.Check(db.Session(&gorm.Session{Logger: log}).AutoMigrate(&Order{}))
	return made
}

func find(query *gorm.DB) []client.Row {
	var orders []Order
	client.Check(query.Find(&orders).Error)
	return client.Rows(orders)
}

func main() {
	config := &gorm.Config{Logger: logger.Discard}
	db := client.Must(gorm.Open(postgres.Open(""), config))
	unprepared := client.Must(gorm.Open(postgres.New(postgres.Config{PreferSimpleProtocol: true}), config))

	client.Test("AutoMigrate makes the table, and nothing else", func() bool {
		made := migrate(db)
		return len(made) == 1 && strings.HasPrefix(made[0], `CREATE TABLE "orders"`)
	})

	raw := func(db *gorm.DB) client.Query {
		return func(text string, values ...any) (rows []client.Row) {
			client.Check(db.Raw(text, values...).Scan(&rows).Error)
			return rows
		}
	}

	client.CheckClient(client.Client{
		Query: raw(db),
		Place: "?",
		Ways:  map[string]client.Query{"unprepared": raw(unprepared)},
		Own: map[string]client.Query{
			"table": func(string, ...any) []client.Row { return nil },
			"bulk": func(_ string, values ...any) []client.Row {
				var orders []Order
				for _, item := range strings.Fields(values[0].(string)) {
					orders = append(orders, Order{Item: item})
				}
				client.Check(db.Create(&orders).Error)
				return client.Rows(orders)
			},
			"during": func(_ string, values ...any) []client.Row {
				since, until := values[0], values[1]
				return find(db.Where("comb_during(id, ?, ?)", since, until).Order("id"))
			},
		},
	})

	// GORM cuts a default at its first cast, and finds another one than that of the tag.
	client.Test("a second AutoMigrate repeats the DEFAULT with a layout, and changes nothing", func() bool {
		return slices.Equal(migrate(db), changes{
			`ALTER TABLE "orders" ALTER COLUMN "ref" SET DEFAULT comb_generate('rtcomb_sql')`})
	})
}
