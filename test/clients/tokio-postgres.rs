// tokio-postgres, with postgres-range

use clients::{Order, Result, Tasks, Time, check, done, show_versions, url};
use futures_util::SinkExt;
use postgres_range::{BoundType, Range, RangeBound};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};
use uuid::Uuid;

struct Program {
    runtime: Runtime,
    client: Client,
}

fn of(row: &Row) -> Order {
    Order { id: row.get("id"), number: row.get("number"), item: row.get("item"), amount: row.get("amount"), r#ref: row.get("ref") }
}

impl Program {
    fn query(&mut self, query: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Order>> {
        Ok(self.runtime.block_on(self.client.query(query, values))?.iter().map(of).collect())
    }
}

impl Tasks for Program {
    const DRIVER: bool = true;

    fn insert(&mut self, item: &str) -> Result<Order> {
        Ok(self.query("INSERT INTO orders (item) VALUES ($1) RETURNING *", &[&item])?.remove(0))
    }

    fn bulk(&mut self, items: &[&str]) -> Result<Vec<Order>> {
        self.query("INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING *", &[&items])
    }

    fn upsert(&mut self, item: &str, amount: i32) -> Result<Order> {
        Ok(self.query("INSERT INTO orders (item, amount) VALUES ($1, $2)
            ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *", &[&item, &amount])?.remove(0))
    }

    fn time(&mut self, id: Uuid) -> Result<Time> {
        Ok(self.runtime.block_on(self.client.query_one("SELECT comb_timestamp($1)", &[&id]))?.get(0))
    }

    fn between(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        self.query("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", &[&since, &until])
    }

    fn during(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        let period = Range::new(Some(RangeBound::new(since, BoundType::Inclusive)),
            Some(RangeBound::new(until, BoundType::Exclusive)));
        self.query("SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", &[&period])
    }

    // Not prepared under a name, as a pooler in transaction mode needs it
    fn unprepared(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        use tokio_postgres::types::Type;
        Ok(self.runtime.block_on(self.client.query_typed(
            "SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id",
            &[(&since, Type::TIMESTAMPTZ), (&until, Type::TIMESTAMPTZ)]))?.iter().map(of).collect())
    }

    fn page(&mut self, after: Uuid, size: i64) -> Result<Vec<Order>> {
        self.query("SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2", &[&after, &size])
    }

    fn find(&mut self, number: i64) -> Result<Order> {
        Ok(self.query("SELECT * FROM orders WHERE number = $1", &[&number])?.remove(0))
    }

    // A text needs the first cast, because a string is no uuid.
    fn by_text(&mut self, id: &str) -> Result<Order> {
        Ok(self.query("SELECT * FROM orders WHERE id = $1::text::uuid", &[&id])?.remove(0))
    }

    fn copy(&mut self, items: &[&str]) -> Result<Vec<Order>> {
        self.runtime.block_on(async {
            let sink = self.client.copy_in("COPY orders (item) FROM STDIN").await?;
            let mut sink = std::pin::pin!(sink);
            sink.send(lines(items)).await?;
            sink.finish().await
        })?;
        self.query("SELECT * FROM orders WHERE item = any($1) ORDER BY id", &[&items])
    }

    fn fail(&mut self) -> Result<(Option<String>, Option<String>)> {
        let error = self.runtime.block_on(self.client.query("SELECT comb_generate('sequential')", &[])).unwrap_err();
        let told = error.as_db_error().unwrap();
        Ok((Some(told.code().code().into()), Some(told.hint().unwrap_or("").into())))
    }
}

fn lines(items: &[&str]) -> std::io::Cursor<Vec<u8>> {
    std::io::Cursor::new(format!("{}\n", items.join("\n")).into_bytes())
}

fn main() -> Result<()> {
    show_versions(&["tokio-postgres", "postgres_range"]);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (client, connection) = runtime.block_on(tokio_postgres::connect(&url(), NoTls))?;
    runtime.spawn(connection);
    // The plan of a prepared statement must do for every period.
    runtime.block_on(client.batch_execute("SET plan_cache_mode = force_generic_plan"))?;
    runtime.block_on(client.batch_execute(&std::fs::read_to_string("sqlx/1_orders.sql")?))?;
    check(&mut Program { runtime, client });
    done()
}
