// Diesel, with the schema that "diesel print-schema" writes

use std::process::Command;
use std::{env, fs};

use clients::Value::*;
use clients::{Result, check, query, row, test, url};
use diesel::prelude::*;
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

mod schema {
    include!("rust/schema.rs");
}
use schema::orders;

#[diesel::declare_sql_function]
extern "SQL" {
    fn comb_during(id: SqlUuid, since: Timestamptz, until: Timestamptz) -> Bool;
}

fn cli(arguments: &[&str]) -> Result<String> {
    let output = Command::new(env::var("COMB_DIESEL")?).args(arguments).args(["--database-url", &url()]).output()?;
    Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
}

fn main() -> Result<()> {
    test("a migration makes the table, and a second run does nothing", || {
        fs::create_dir_all("migrations/1_orders")?;
        fs::copy("orders.sql", "migrations/1_orders/up.sql")?;
        let ran = |output: String| output.contains("Running migration 1_orders");
        Ok(ran(cli(&["migration", "run"])?) && !ran(cli(&["migration", "run"])?))
    });
    test("print-schema sees the table alone", || {
        let schema = cli(&["print-schema"])?;
        Ok(schema == include_str!("rust/schema.rs") && schema.matches("diesel::table!").count() == 1)
    });

    let mut db = PgConnection::establish(&url())?;
    check(&[], |name, text, values| {
        let found: Vec<(Uuid, i64, String, Uuid)> = match (name, values) {
            ("table", _) => vec![],
            ("bulk", [Text(items)]) => {
                let rows: Vec<_> = items.split(' ').map(|item| orders::item.eq(item)).collect();
                diesel::insert_into(orders::table).values(rows).get_results(&mut db)?
            }
            ("during", [Time(since), Time(until)]) =>
                orders::table.filter(comb_during(orders::id, since, until)).order(orders::id)
                    .load(&mut db)?,
            ("created", _) => return query(&text.replace("$1", "tstzrange($1, $2)"), values),
            _ => return query(text, values),
        };
        Ok(found.into_iter().map(|(id, number, item, _)| row(id, number, item)).collect())
    });
    Ok(())
}
