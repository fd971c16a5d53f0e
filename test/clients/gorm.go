// GORM: its queries and AutoMigrate

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
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

func of(orders []Order) (rows []client.Order) {
	for _, o := range orders {
		rows = append(rows, client.Order(o))
	}
	return rows
}

func main() {
	client.ShowVersions("gorm", "pgx")
	db := client.Must(gorm.Open(postgres.Open(""), &gorm.Config{Logger: logger.Discard}))
	var orders []Order

	client.Test("AutoMigrate makes the table, and nothing else", func() bool {
		made := migrate(db)
		return len(made) == 1 && strings.HasPrefix(made[0], `CREATE TABLE "orders"`)
	})

	find := func(query *gorm.DB) []client.Order {
		orders = nil
		client.Check(query.Find(&orders).Error)
		return of(orders)
	}
	between := func(since, until time.Time) []client.Order {
		return find(db.Where("comb_during(id, ?, ?)", since, until).Order("id"))
	}
	during := func(since, until time.Time) []client.Order {
		period := fmt.Sprintf("[%s,%s)", since.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano))
		return find(db.Where("comb_created(id, ?)", period).Order("id"))
	}
	unprepared := client.Must(gorm.Open(postgres.New(postgres.Config{PreferSimpleProtocol: true}),
		&gorm.Config{Logger: logger.Discard}))

	client.CheckClient(client.Tasks{
		Insert: func(item string) client.Order {
			order := Order{Item: item}
			client.Check(db.Create(&order).Error)
			return client.Order(order)
		},
		Bulk: func(items []string) []client.Order {
			orders := make([]Order, len(items))
			for i, item := range items {
				orders[i].Item = item
			}
			client.Check(db.Create(&orders).Error)
			return of(orders)
		},
		Upsert: func(item string, amount int32) client.Order {
			order := Order{Item: item, Amount: amount}
			client.Check(db.Clauses(clause.OnConflict{
				Columns:   []clause.Column{{Name: "item"}},
				DoUpdates: clause.AssignmentColumns([]string{"amount"}),
			}, clause.Returning{}).Create(&order).Error)
			return client.Order(order)
		},
		Time: func(id uuid.UUID) (created time.Time) {
			client.Check(db.Model(&Order{}).Select("comb_timestamp(id)").Where("id = ?", id).Scan(&created).Error)
			return created
		},
		Periods: map[string]client.Period{
			"two timestamps": between,
			"a range":        during,
			"two timestamps, unprepared": func(since, until time.Time) []client.Order {
				return find(unprepared.Where("comb_during(id, ?, ?)", since, until).Order("id"))
			},
		},
		Page: func(after uuid.UUID, size int) []client.Order {
			return find(db.Where("id > ?", after).Order("id").Limit(size))
		},
		Find: func(number int64) client.Order {
			return find(db.Where("number = ?", number))[0]
		},
		ByText: func(id string) client.Order {
			return find(db.Where("id = ?", id))[0]
		},
		Fail: func() error { return db.Exec("SELECT comb_generate('sequential')").Error },
		Told: func(err error) (string, string) {
			var told *pgconn.PgError
			errors.As(err, &told)
			return told.Code, told.Hint
		},
	})

	// GORM cuts a default at its first cast, and finds another one than that of the tag.
	client.Test("a second AutoMigrate repeats the DEFAULT with a layout, and changes nothing", func() bool {
		return slices.Equal(migrate(db), []string{
			`ALTER TABLE "orders" ALTER COLUMN "ref" SET DEFAULT comb_generate('rtcomb_sql')`})
	})
	client.Done()
}
