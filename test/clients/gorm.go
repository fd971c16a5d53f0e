// GORM: its queries and AutoMigrate

package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
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
	statements []string
}

func (c *changes) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	text, _ := statement()
	for _, command := range []string{"CREATE", "ALTER", "DROP", "COMMENT"} {
		if strings.HasPrefix(text, command) {
			c.statements = append(c.statements, text)
		}
	}
}

func migrate(db *gorm.DB) []string {
	c := &changes{Interface: logger.Discard}
	client.Check(db.Session(&gorm.Session{Logger: c}).AutoMigrate(&Order{}))
	return c.statements
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

	find := func(query *gorm.DB) []client.Row {
		var orders []Order
		client.Check(query.Find(&orders).Error)
		return client.Structs(orders...)
	}
	create := func(db *gorm.DB, orders ...Order) []client.Row {
		client.Check(db.Create(&orders).Error)
		return client.Structs(orders...)
	}

	client.CheckClient(client.Client{
		Query: func(text string, values ...any) []client.Row { return client.Rows(db.Raw(text, values...).Rows()) },
		Place: "?",
		Ways: map[string]client.Query{"unprepared": func(_ string, values ...any) []client.Row {
			return find(unprepared.Where("comb_during(id, ?, ?)", values...).Order("id"))
		}},
		Own: map[string]any{
			"table":  func() []client.Row { return nil },
			"insert": func(item string) []client.Row { return create(db, Order{Item: item}) },
			"bulk": func(items string) []client.Row {
				var orders []Order
				for _, item := range strings.Fields(items) {
					orders = append(orders, Order{Item: item})
				}
				return create(db, orders...)
			},
			"upsert": func(item string, amount int32) []client.Row {
				return create(db.Clauses(clause.OnConflict{
					Columns:   []clause.Column{{Name: "item"}},
					DoUpdates: clause.AssignmentColumns([]string{"amount"}),
				}, clause.Returning{}), Order{Item: item, Amount: amount})
			},
			"during": func(since, until time.Time) []client.Row {
				return find(db.Where("comb_during(id, ?, ?)", since, until).Order("id"))
			},
			"created": func(since, until time.Time) []client.Row {
				return find(db.Where("comb_created(id, ?)", client.TextRange(since, until)).Order("id"))
			},
			"page": func(after uuid.UUID, size int) []client.Row {
				return find(db.Where("id > ?", after).Order("id").Limit(size))
			},
			"find": func(id uuid.UUID, number int64) []client.Row {
				return find(db.Where("id = ? AND number = ?", id, number))
			},
			"text": func(id string) []client.Row { return find(db.Where("id = ?", id)) },
		},
	})

	// GORM cuts a default at its first cast, and finds another one than that of the tag.
	client.Test("a second AutoMigrate repeats the DEFAULT with a layout, and changes nothing", func() bool {
		return slices.Equal(migrate(db), []string{
			`ALTER TABLE "orders" ALTER COLUMN "ref" SET DEFAULT comb_generate('rtcomb_sql')`})
	})
	client.Done()
}
