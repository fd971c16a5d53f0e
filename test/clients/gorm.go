// GORM: its queries and AutoMigrate

package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

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
	Amount int32     `gorm:"not null;default:1"`
	Ref    uuid.UUID `gorm:"type:uuid;not null;default:comb_generate('rtcomb_sql')"`
}

// The statements of AutoMigrate that change something
type changes struct {
	logger.Interface
	made []string
}

func (c *changes) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	if text, _ := statement(); regexp.MustCompile("^(CREATE|ALTER|DROP|COMMENT)").MatchString(text) {
		c.made = append(c.made, text)
	}
}

func migrate(db *gorm.DB) []string {
	c := &changes{Interface: logger.Discard}
	client.Check(db.Session(&gorm.Session{Logger: c}).AutoMigrate(&Order{}))
	return c.made
}

func find(query *gorm.DB) (orders []Order) {
	client.Check(query.Find(&orders).Error)
	return orders
}

func main() {
	client.ShowVersions("gorm", "pgx")
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
	create := func(items []string) (orders []Order) {
		for _, item := range items {
			orders = append(orders, Order{Item: item})
		}
		client.Check(db.Create(&orders).Error)
		return orders
	}

	client.CheckClient(client.Client{
		Query: raw(db),
		Place: "?",
		Ways:  map[string]client.Query{"unprepared": raw(unprepared)},
		Own: map[string]any{
			"table":  func() {},
			"insert": create,
			"bulk":   create,
			"find":   func(id uuid.UUID, number int64) []Order { return find(db.Where("id = ? AND number = ?", id, number)) },
			"during": func(since, until time.Time) []Order {
				return find(db.Where("comb_during(id, ?, ?)", since, until).Order("id"))
			},
		},
	})

	// GORM cuts a default at its first cast, and finds another one than that of the tag.
	client.Test("a second AutoMigrate repeats the DEFAULT with a layout, and changes nothing", func() bool {
		return slices.Equal(migrate(db), []string{
			`ALTER TABLE "orders" ALTER COLUMN "ref" SET DEFAULT comb_generate('rtcomb_sql')`})
	})
}
