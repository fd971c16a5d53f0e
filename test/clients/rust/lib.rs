//! What the programs for Rust share: the checks, and TAP
//!
//! A program makes the table orders (id, number, item, amount, ref), as its client's users
//! would, and has one function for each task.

use std::cell::Cell;
use std::env;
use std::fs;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

pub type Time = DateTime<Utc>;
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Clone)]
pub struct Order {
    pub id: Uuid,
    pub number: i64,
    pub item: String,
    pub amount: i32,
    pub r#ref: Uuid,
}

pub trait Tasks {
    fn insert(&mut self, item: &str) -> Result<Order>;
    /// Inserts rows in one statement, in order.
    fn bulk(&mut self, items: &[&str]) -> Result<Vec<Order>>;
    /// Inserts or updates by item.
    fn upsert(&mut self, item: &str, amount: i32) -> Result<Order>;
    /// The time of the key
    fn time(&mut self, id: Uuid) -> Result<Time>;
    /// The rows from since on and before until
    fn between(&mut self, since: Time, until: Time) -> Result<Vec<Order>>;
    /// The same by a range
    fn during(&mut self, since: Time, until: Time) -> Result<Vec<Order>>;
    /// The next rows by the key
    fn page(&mut self, after: Uuid, size: i64) -> Result<Vec<Order>>;
    /// The row of a Snowflake
    fn find(&mut self, number: i64) -> Result<Order>;
    /// The row of a key that is a text
    fn by_text(&mut self, id: &str) -> Result<Order>;
    /// The SQLSTATE and the hint of comb_generate('sequential').  A client may tell only one.
    fn fail(&mut self) -> Result<(Option<String>, Option<String>)>;
    /// Whether the client has the two below
    const DRIVER: bool = false;
    /// Inserts rows by COPY, in order.
    fn copy(&mut self, _items: &[&str]) -> Result<Vec<Order>> {
        unimplemented!()
    }
    /// The same as between(), not prepared under a name
    fn unprepared(&mut self, _since: Time, _until: Time) -> Result<Vec<Order>> {
        unimplemented!()
    }
}

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static FAILED: Cell<u32> = const { Cell::new(0) };
}

pub fn test(name: &str, check: impl FnOnce() -> Result<bool>) {
    let passed = check().unwrap_or_else(|error| {
        println!("# {error:?}");
        false
    });
    COUNT.set(COUNT.get() + 1);
    FAILED.set(FAILED.get() + u32::from(!passed));
    println!("{}ok {} - {name}", if passed { "" } else { "not " }, COUNT.get());
}

pub fn done() -> ! {
    println!("1..{}", COUNT.get());
    std::process::exit(i32::from(FAILED.get() > 0))
}

/// The runner copies the versions from this line into its table.
pub fn show_versions(packages: &[&str]) {
    let pinned = fs::read_to_string("Cargo.toml").unwrap();
    let versions: Vec<String> = packages.iter().map(|package| {
        let line = pinned.lines().find(|line| line.starts_with(&format!("{package} = "))).unwrap();
        let version = line.split("\"=").nth(1).unwrap().split('"').next().unwrap();
        format!("{package} {version}")
    }).collect();
    println!("# versions: {}", versions.join(", "));
}

/// The address of the database.  Its host is the directory of a Unix socket.
pub fn url() -> String {
    let variable = |name| env::var(name).unwrap();
    format!("postgres://{}@{}:{}/{}", variable("PGUSER"), variable("PGHOST").replace('/', "%2F"),
        variable("PGPORT"), variable("PGDATABASE"))
}

fn is_now(at: Time) -> bool {
    (Utc::now() - at).abs() < TimeDelta::seconds(60)
}

fn in_order(orders: &[Order]) -> bool {
    orders.iter().all(|o| o.id.get_version_num() == 7) && orders.is_sorted_by(|a, b| a.id < b.id)
}

fn items(orders: &[Order]) -> String {
    orders.iter().map(|o| o.item.as_str()).collect::<Vec<_>>().join(" ")
}

/// The time of a key in the layout rtcomb_sql
fn layout_time(r#ref: Uuid) -> Time {
    DateTime::from_timestamp_millis((r#ref.as_u128() & ((1 << 48) - 1)) as i64).unwrap()
}

pub fn check<T: Tasks>(tasks: &mut T) {
    const GOODS: [&str; 5] = ["salt", "oil", "rice", "tea", "milk"];
    let all = format!("bread {}", GOODS.join(" "));
    let mut rows = Vec::new();

    test("an insert gives the id back", || {
        rows.push(tasks.insert("bread")?);
        Ok(in_order(&rows))
    });
    test("rows of one statement have keys in order", || {
        rows.append(&mut tasks.bulk(&GOODS)?);
        Ok(items(&rows) == all && in_order(&rows))
    });
    test("an upsert keeps the id", || {
        let order = tasks.upsert("bread", 7)?;
        Ok(order.id == rows[0].id && order.amount == 7)
    });
    test("the key has the time", || Ok(is_now(tasks.time(rows[0].id)?)));
    let ways = ["two timestamps", "a range", "two timestamps, unprepared"];
    for (way, name) in ways.iter().take(if T::DRIVER { 3 } else { 2 }).enumerate() {
        test(&format!("a period by {name}"), || {
            let (now, created) = (Utc::now(), tasks.time(rows[0].id)?);
            let mut of = |since, until| {
                Ok::<_, Box<dyn std::error::Error>>(items(&match way {
                    0 => tasks.between(since, until)?,
                    1 => tasks.during(since, until)?,
                    _ => tasks.unprepared(since, until)?,
                }))
            };
            Ok(of(now - TimeDelta::minutes(1), now + TimeDelta::minutes(1))? == all
                && of(now - TimeDelta::hours(2), now - TimeDelta::hours(1))?.is_empty()
                && of(created, created + TimeDelta::milliseconds(1))?.starts_with("bread")
                && of(now - TimeDelta::hours(1), created)?.is_empty())
        });
    }
    test("pages by the key", || {
        let (mut seen, mut page) = (Vec::new(), tasks.page(Uuid::nil(), 4)?);
        while let Some(last) = page.last() {
            let after = last.id;
            seen.append(&mut page);
            page = tasks.page(after, 4)?;
        }
        Ok(items(&seen) == all)
    });
    test("a key as text finds its row", || Ok(tasks.by_text(&rows[0].id.to_string())?.item == "bread"));
    test("a DEFAULT with a layout makes its keys", || {
        Ok(rows.iter().all(|o| o.r#ref.get_version_num() == 4 && is_now(layout_time(o.r#ref))))
    });
    test("a Snowflake keeps its digits", || {
        let found: Result<Vec<Order>> = rows.iter().map(|o| tasks.find(o.number)).collect();
        Ok(items(&found?) == all && rows[0].number > 1 << 53)
    });
    test("an error has its SQLSTATE or hint", || {
        let (sqlstate, hint) = tasks.fail()?;
        Ok((sqlstate.is_some() || hint.is_some()) && sqlstate.is_none_or(|sqlstate| sqlstate == "22023")
            && hint.is_none_or(|hint| hint.starts_with("The layouts are uuidv7, ")))
    });
    if T::DRIVER {
        test("COPY makes keys", || {
            let made = tasks.copy(&["flour", "yeast"])?;
            Ok(items(&made) == "flour yeast" && in_order(&made))
        });
    }
}
