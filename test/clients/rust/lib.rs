//! The runner of statements.sql for Rust, and TAP
//!
//! Mappers run the statements that they have no form for by tokio-postgres, which query() calls.

use std::collections::HashMap;
use std::error::Error;
use std::iter::once;
use std::sync::LazyLock;
use std::{env, fs};

use Value::*;
use chrono::{DateTime, Utc};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::NoTls;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;
pub type Row = HashMap<String, Value>;

#[derive(Clone)]
pub enum Value {
    Id(Uuid),
    Long(i64),
    Text(String),
    Time(DateTime<Utc>),
}

/// A row of orders
pub fn row(id: Uuid, number: i64, item: String) -> Row {
    [("id", Id(id)), ("number", Long(number)), ("item", Text(item))].map(|(name, value)| (name.into(), value)).into()
}

pub fn test(name: &str, check: impl FnOnce() -> Result<bool>) {
    let passed = check().unwrap_or_else(|error| {
        println!("# {error:?}");
        false
    });
    println!("{} - {name}", if passed { "ok" } else { "not ok" });
}

/// The address of the database.  Its host is the directory of a Unix socket.
pub fn url() -> String {
    let variable = |name| env::var(name).unwrap();
    format!("postgres://{}@{}:{}/{}", variable("PGUSER"), variable("PGHOST").replace('/', "%2F"),
        variable("PGPORT"), variable("PGDATABASE"))
}

pub fn wait<T>(task: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());
    RUNTIME.block_on(task)
}

pub static DB: LazyLock<tokio_postgres::Client> = LazyLock::new(|| wait(async {
    let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}));

pub fn rows(of: Vec<tokio_postgres::Row>) -> Vec<Row> {
    let value = |row: &tokio_postgres::Row, i, of: &Type| match *of {
        Type::UUID => Id(row.get(i)),
        Type::INT8 => Long(row.get(i)),
        Type::TIMESTAMPTZ => Time(row.get(i)),
        _ => Text(row.get(i)),
    };
    of.iter().map(|row| {
        row.columns().iter().enumerate().map(|(i, c)| (c.name().into(), value(row, i, c.type_()))).collect()
    }).collect()
}

pub fn query(text: &str, values: &[Value]) -> Result<Vec<Row>> {
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| match value {
        Id(value) => value as _,
        Long(value) => value as _,
        Text(value) => value as _,
        Time(value) => value as _,
    }).collect();
    Ok(rows(wait(DB.query(text, &values)).map_err(|error| match error.as_db_error() {
        Some(told) => format!("{} {}", told.code().code(), told.hint().unwrap_or("")).into(),
        None => Box::<dyn Error>::from(error),
    })?))
}

/// The text with $1, $2 ..., and the names of the values
fn parameters(statement: &str) -> (String, Vec<&str>) {
    let mut pieces = statement.split('$');
    let mut text = pieces.next().unwrap().to_string();
    let mut names = vec![];
    for (i, piece) in pieces.enumerate() {
        let (name, rest) = piece.split_at(match piece.starts_with('[') {
            true => piece.find(')').unwrap() + 1,
            false => piece.find(|c: char| !c.is_alphanumeric()).unwrap_or(piece.len()),
        });
        names.extend(name.trim_matches(['[', ')']).split(','));
        // Both drivers pass a string as text only.
        let cast = if name == "text" { "::text::uuid" } else { "" };
        text += &format!("${}{cast}{rest}", i + 1);
    }
    (text, names)
}

/// Calls run with each statement's name, text and values, and also with each of "ways" as the name
/// of the statements "during".  A range comes as two values.  The text of an error is an answer.
pub fn check(ways: &[&str], mut run: impl FnMut(&str, &str, &[Value]) -> Result<Vec<Row>>) {
    let mut known = Row::from([("clock".into(), Time(Utc::now()))]); // columns of the statements before
    for part in fs::read_to_string("statements.sql").unwrap().split("\n\n") {
        let Some((statement, expected)) = part.split_once("\n-->") else { continue };
        let (title, statement) = statement.split_once('\n').unwrap();
        let (name, title) = title[3..].split_once(": ").unwrap();
        for way in once(&name).chain(ways.iter().filter(|_| name == "during")) {
            let (text, names) = parameters(statement);
            test(&if *way == name { title.into() } else { format!("{title}, {way}") }, || {
                let value = |name: &&str| known.get(*name).cloned().ok_or(format!("{name} has no value"));
                let values = names.iter().map(value).collect::<std::result::Result<Vec<_>, _>>()?;
                let answer = run(way, &text, &values).map_or_else(|error| error.to_string(), |rows| {
                    known.extend(rows.iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
                    let item = |row: &Row| if let Some(Text(item)) = row.get("item") { item.clone() } else { "".into() };
                    rows.iter().map(item).collect::<Vec<_>>().join(" ")
                });
                let passed = answer.split(',').next() == Some(expected.trim());
                if !passed {
                    println!("# {answer}");
                }
                Ok(passed)
            });
        }
    }
}
