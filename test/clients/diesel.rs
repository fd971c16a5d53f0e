// Diesel, with the schema that "diesel print-schema" writes

use std::process::Command;
use std::{env, fs};

use chrono::{DateTime, Utc};
use clients::Value::*;
use clients::{Result, check, of, query, row, show_versions, table, test, url};
use diesel::prelude::*;
use diesel::result::Error::DatabaseError;
use diesel::sql_types::{Range, Timestamptz, Uuid as SqlUuid};
use diesel::upsert::excluded;

mod schema {
    include!("rust/schema.rs");
}
use schema::orders;

#[diesel::declare_sql_function]
extern "SQL" {
    fn comb_during(id: SqlUuid, since: Timestamptz, until: Timestamptz) -> Bool;
    fn comb_created(id: SqlUuid, period: Range<Timestamptz>) -> Bool;
    fn comb_timestamp(id: SqlUuid) -> Nullable<Timestamptz>;
}

fn cli(arguments: &[&str]) -> Result<String> {
    let output = Command::new(env::var("COMB_DIESEL")?).args(arguments).args(["--database-url", &url()]).output()?;
    Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
}

fn main() -> Result<()> {
    show_versions(&["diesel"]);
    test("a migration makes the table, and a second run does nothing", || {
        fs::create_dir_all("migrations/1_orders")?;
        fs::write("migrations/1_orders/up.sql", table())?;
        let ran = |output: String| output.contains("Running migration 1_orders");
        Ok(ran(cli(&["migration", "run"])?) && !ran(cli(&["migration", "run"])?))
    });
    test("print-schema sees the table alone", || {
        let schema = cli(&["print-schema"])?;
        Ok(schema == include_str!("rust/schema.rs") && schema.matches("diesel::table!").count() == 1)
    });

    let mut db = PgConnection::establish(&url())?;
    check(&[], |name, text, values| Ok(match (name, values) {
        ("table", _) => vec![],
        ("insert", [Text(item)]) =>
            of(diesel::insert_into(orders::table).values(orders::item.eq(item)).get_results(&mut db)?),
        ("bulk", [Text(items)]) => {
            let rows: Vec<_> = items.split(' ').map(|item| orders::item.eq(item)).collect();
            of(diesel::insert_into(orders::table).values(rows).get_results(&mut db)?)
        }
        ("upsert", [Text(item), Int(amount)]) =>
            of(diesel::insert_into(orders::table).values((orders::item.eq(item), orders::amount.eq(amount)))
                .on_conflict(orders::item).do_update().set(orders::amount.eq(excluded(orders::amount)))
                .get_results(&mut db)?),
        ("find", [Id(id), Long(number)]) =>
            of(orders::table.find(id).filter(orders::number.eq(number)).load(&mut db)?),
        ("time", [Id(id)]) => {
            let (item, time): (String, Option<DateTime<Utc>>) =
                orders::table.find(id).select((orders::item, comb_timestamp(orders::id))).first(&mut db)?;
            vec![row([("item", Text(item)), ("created", Time(time.unwrap()))])]
        }
        ("during", [Time(since), Time(until)]) =>
            of(
                orders::table.filter(comb_during(orders::id, since, until)).order(orders::id)
                .load(&mut db)?),
        ("created", &[Time(since), Time(until)]) =>
            of(orders::table.filter(comb_created(orders::id, since..until)).order(orders::id).load(&mut db)?),
        ("page", &[Id(after), Int(size)]) =>
            of(orders::table.filter(orders::id.gt(after)).order(orders::id).limit(size.into()).load(&mut db)?),
        ("error", _) => {
            let DatabaseError(_, told) = diesel::sql_query(text).execute(&mut db).unwrap_err() else { panic!() };
            // Diesel does not tell the SQLSTATE.
            return Err(format!("22023 {}", told.hint().unwrap()).into());
        }
        _ => query(text, values)?,
    }));
    Ok(())
}
