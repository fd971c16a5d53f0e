// sqlx: its queries in macros are checked against the database when the program is compiled

use std::fs;
use std::path::Path;

use clients::Value::*;
use clients::{Result, Row, Value, check, row, url, wait};
use sqlx::migrate::Migrator;
use sqlx::postgres::types::PgRange;
use sqlx::postgres::{PgConnection, PgDatabaseError, PgRow};
use sqlx::{AssertSqlSafe, Column, Connection, Executor, Row as _, TypeInfo, query, query_as, query_scalar};
use uuid::Uuid;

struct Order {
    id: Uuid,
    number: i64,
    item: String,
}

fn columns(row: &PgRow) -> Row {
    row.columns().iter().map(|column| (column.name().to_string(), match column.type_info().name() {
        "UUID" => Id(row.get(column.ordinal())),
        "INT8" => Long(row.get(column.ordinal())),
        "TIMESTAMPTZ" => Time(row.get(column.ordinal())),
        _ => Text(row.get(column.ordinal())),
    })).collect()
}

fn run(db: &mut PgConnection, text: &str, values: &[Value], prepared: bool) -> Result<Vec<Row>> {
    let mut query = query(AssertSqlSafe(text)).persistent(prepared);
    for value in values {
        query = match value {
            Id(value) => query.bind(value),
            Long(value) => query.bind(value),
            Text(value) => query.bind(value),
            Time(value) => query.bind(value),
        };
    }
    Ok(wait(query.fetch_all(db))?.iter().map(columns).collect())
}

async fn copy(db: &mut PgConnection, items: &str) -> Result<()> {
    let mut copy = db.copy_in_raw("COPY orders (item) FROM STDIN").await?;
    copy.send(items.replace(' ', "\n").as_bytes()).await?;
    copy.finish().await?;
    Ok(())
}

fn main() -> Result<()> {
    let mut db = wait(PgConnection::connect(&url()))?;
    clients::test("a migration makes the table, and a second run does nothing", || {
        fs::create_dir_all("sqlx")?;
        fs::copy("orders.sql", "sqlx/1_orders.sql")?;
        let migrations = wait(Migrator::new(Path::new("sqlx")))?;
        wait(migrations.run(&mut db))?;
        wait(migrations.run(&mut db))?;
        Ok(wait(query_scalar::<_, i64>("SELECT count(*) FROM _sqlx_migrations").fetch_one(&mut db))? == 1)
    });

    check(&["unprepared"], |name, text, values| match (name, values) {
        ("table", _) => Ok(vec![]),
        ("created", &[Time(since), Time(until)]) => {
            let found = wait(query_as!(Order,
                "SELECT id, number, item FROM orders WHERE comb_created(id, $1) ORDER BY id", PgRange::from(since..until))
                .fetch_all(&mut db))?;
            Ok(found.into_iter().map(|order| row(order.id, order.number, order.item)).collect())
        }
        // As a pooler in transaction mode needs it
        ("unprepared", _) => run(&mut db, text, values, false),
        ("copy", [Text(items)]) => wait(copy(&mut db, items)).map(|()| vec![]),
        ("error", _) => {
            let error = wait(db.execute("SELECT comb_generate('sequential')")).unwrap_err();
            let told = error.as_database_error().unwrap().downcast_ref::<PgDatabaseError>();
            Err(format!("{} {}", told.code(), told.hint().unwrap()).into())
        }
        _ => run(&mut db, text, values, true),
    });
    Ok(())
}
