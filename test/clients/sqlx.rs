// sqlx: its queries in macros are checked against the database when the program is compiled

use std::fs;
use std::path::Path;

use clients::Value::*;
use clients::{Order, Result, Row, Value, check, of, row, show_versions, table, url, wait};
use sqlx::migrate::Migrator;
use sqlx::postgres::types::PgRange;
use sqlx::postgres::{PgConnection, PgDatabaseError, PgRow};
use sqlx::{AssertSqlSafe, Column, Connection, Executor, Row as _, TypeInfo, query, query_as, query_scalar};

fn columns(row: &PgRow) -> Row {
    row.columns().iter().map(|column| (column.name().to_string(), match column.type_info().name() {
        "UUID" => Id(row.get(column.ordinal())),
        "INT8" => Long(row.get(column.ordinal())),
        "INT4" => Int(row.get(column.ordinal())),
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
            Int(value) => query.bind(value),
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
    show_versions(&["sqlx"]);
    let mut db = wait(PgConnection::connect(&url()))?;
    clients::test("a migration makes the table, and a second run does nothing", || {
        fs::create_dir_all("sqlx")?;
        fs::write("sqlx/1_orders.sql", table())?;
        let migrations = wait(Migrator::new(Path::new("sqlx")))?;
        wait(migrations.run(&mut db))?;
        wait(migrations.run(&mut db))?;
        Ok(wait(query_scalar::<_, i64>("SELECT count(*) FROM _sqlx_migrations").fetch_one(&mut db))? == 1)
    });

    check(&["unprepared"], |name, text, values| match (name, values) {
        ("table", _) => Ok(vec![]),
        ("insert", [Text(item)]) => Ok(of(wait(
            query_as!(Order, "INSERT INTO orders (item) VALUES ($1) RETURNING *", item).fetch_all(&mut db))?)),
        ("time", [Id(id)]) => {
            let found = wait(query!("SELECT item, comb_timestamp(id) AS created FROM orders WHERE id = $1", id)
                .fetch_one(&mut db))?;
            Ok(vec![row([("item", Text(found.item)), ("created", Time(found.created.unwrap()))])])
        }
        ("during", [Time(since), Time(until)]) => Ok(of(wait(
            query_as!(Order, "SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)
                .fetch_all(&mut db))?)),
        ("created", &[Time(since), Time(until)]) => Ok(of(wait(
            query_as!(Order, "SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", PgRange::from(since..until))
                .fetch_all(&mut db))?)),
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
