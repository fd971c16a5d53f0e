// "go mod tidy" adds what these need, see lib.sh.
module clients

go 1.26.0

require (
	github.com/google/uuid v1.6.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/sqlc-dev/sqlc v1.31.1
	gorm.io/driver/postgres v1.6.3
	gorm.io/gorm v1.31.2
)

tool github.com/sqlc-dev/sqlc/cmd/sqlc
