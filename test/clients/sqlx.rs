// sqlx: its queries are checked against the database when the program is compiled, which
// has the table from the migration by then.

use clients::{Order, Result, Tasks, Time, check, done, show_versions, test, url};
use sqlx::postgres::types::PgRange;
use sqlx::{Connection, Executor, PgConnection, query, query_as, query_scalar};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

struct Program {
    runtime: Runtime,
    db: PgConnection,
}

impl Tasks for Program {
    const DRIVER: bool = true;

    fn insert(&mut self, item: &str) -> Result<Order> {
        Ok(self.runtime.block_on(
            query_as!(Order, "INSERT INTO orders (item) VALUES ($1) RETURNING *", item)
                .fetch_one(&mut self.db))?)
    }

    fn bulk(&mut self, items: &[&str]) -> Result<Vec<Order>> {
        let items: Vec<String> = items.iter().map(|item| item.to_string()).collect();
        Ok(self.runtime.block_on(
            query_as!(Order, "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING *", &items)
                .fetch_all(&mut self.db))?)
    }

    fn upsert(&mut self, item: &str, amount: i32) -> Result<Order> {
        Ok(self.runtime.block_on(
            query_as!(Order, "INSERT INTO orders (item, amount) VALUES ($1, $2)
                ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *", item, amount)
                .fetch_one(&mut self.db))?)
    }

    fn time(&mut self, id: Uuid) -> Result<Time> {
        Ok(self.runtime.block_on(
            query_scalar!("SELECT comb_timestamp($1)", id).fetch_one(&mut self.db))?.unwrap())
    }

    fn between(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        Ok(self.runtime.block_on(
            query_as!(Order, "SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)
                .fetch_all(&mut self.db))?)
    }

    fn during(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        let period = PgRange::from(since..until);
        Ok(self.runtime.block_on(
            query_as!(Order, "SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", period)
                .fetch_all(&mut self.db))?)
    }

    // As a pooler in transaction mode needs it
    fn unprepared(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        use sqlx::Row;
        let rows = self.runtime.block_on(
            query("SELECT item, id, number, amount, ref FROM orders WHERE comb_during(id, $1, $2) ORDER BY id")
                .bind(since).bind(until).persistent(false).fetch_all(&mut self.db))?;
        Ok(rows.iter().map(|row| Order {
            id: row.get("id"), number: row.get("number"), item: row.get("item"), amount: row.get("amount"), r#ref: row.get("ref"),
        }).collect())
    }

    fn page(&mut self, after: Uuid, size: i64) -> Result<Vec<Order>> {
        Ok(self.runtime.block_on(
            query_as!(Order, "SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2", after, size)
                .fetch_all(&mut self.db))?)
    }

    fn find(&mut self, number: i64) -> Result<Order> {
        Ok(self.runtime.block_on(
            query_as!(Order, "SELECT * FROM orders WHERE number = $1", number).fetch_one(&mut self.db))?)
    }

    fn by_text(&mut self, id: &str) -> Result<Order> {
        Ok(self.runtime.block_on(
            query_as!(Order, "SELECT * FROM orders WHERE id = $1::text::uuid", id).fetch_one(&mut self.db))?)
    }

    fn copy(&mut self, items: &[&str]) -> Result<Vec<Order>> {
        let names: Vec<String> = items.iter().map(|item| item.to_string()).collect();
        self.runtime.block_on(async {
            let mut copy = self.db.copy_in_raw("COPY orders (item) FROM STDIN").await?;
            copy.send(format!("{}\n", items.join("\n")).into_bytes()).await?;
            copy.finish().await
        })?;
        Ok(self.runtime.block_on(
            query_as!(Order, "SELECT * FROM orders WHERE item = any($1) ORDER BY id", &names)
                .fetch_all(&mut self.db))?)
    }

    fn fail(&mut self) -> Result<(Option<String>, Option<String>)> {
        let error = self.runtime.block_on(self.db.execute("SELECT comb_generate('sequential')")).unwrap_err();
        let told = error.into_database_error().unwrap();
        let hint = told.downcast_ref::<sqlx::postgres::PgDatabaseError>().hint().unwrap_or("").to_string();
        Ok((Some(told.code().unwrap().into()), Some(hint)))
    }
}

fn main() -> Result<()> {
    show_versions(&["sqlx"]);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut db = runtime.block_on(PgConnection::connect(&url()))?;
    let migrations = sqlx::migrate!("./sqlx");

    // The plan of a prepared statement must do for every period.
    runtime.block_on(db.execute("SET plan_cache_mode = force_generic_plan"))?;
    test("a migration makes the table, and a second run does nothing", || {
        runtime.block_on(migrations.run(&mut db))?;
        runtime.block_on(migrations.run(&mut db))?;
        let count = runtime.block_on(sqlx::query_scalar::<_, i64>("SELECT count(*) FROM _sqlx_migrations").fetch_one(&mut db))?;
        Ok(count == 1)
    });
    check(&mut Program { runtime, db });
    done()
}
