// Diesel, with the schema that "diesel print-schema" writes

use std::env;
use std::process::Command;

use clients::{Order, Result, Tasks, Time, check, done, show_versions, test, url};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Range, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

mod schema {
    include!("diesel/schema.rs");
}
use schema::orders;

#[diesel::declare_sql_function]
extern "SQL" {
    fn comb_during(id: SqlUuid, since: Timestamptz, until: Timestamptz) -> Bool;
    fn comb_created(id: SqlUuid, period: Range<Timestamptz>) -> Bool;
    fn comb_timestamp(id: SqlUuid) -> Nullable<Timestamptz>;
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = orders)]
struct Row {
    id: Uuid,
    number: i64,
    item: String,
    amount: i32,
    ref_: Uuid,
}

struct Program {
    db: PgConnection,
}

fn order(row: Row) -> Order {
    Order { id: row.id, number: row.number, item: row.item, amount: row.amount, r#ref: row.ref_ }
}

fn of(rows: Vec<Row>) -> Vec<Order> {
    rows.into_iter().map(order).collect()
}

impl Tasks for Program {
    fn insert(&mut self, item: &str) -> Result<Order> {
        Ok(order(diesel::insert_into(orders::table).values(orders::item.eq(item))
            .returning(Row::as_returning()).get_result(&mut self.db)?))
    }

    fn bulk(&mut self, items: &[&str]) -> Result<Vec<Order>> {
        let rows: Vec<_> = items.iter().map(|item| orders::item.eq(*item)).collect();
        Ok(of(diesel::insert_into(orders::table).values(rows)
            .returning(Row::as_returning()).get_results(&mut self.db)?))
    }

    fn upsert(&mut self, item: &str, amount: i32) -> Result<Order> {
        Ok(order(diesel::insert_into(orders::table).values((orders::item.eq(item), orders::amount.eq(amount)))
            .on_conflict(orders::item).do_update().set(orders::amount.eq(diesel::upsert::excluded(orders::amount)))
            .returning(Row::as_returning()).get_result(&mut self.db)?))
    }

    fn time(&mut self, id: Uuid) -> Result<Time> {
        let time: Option<Time> = orders::table.find(id).select(comb_timestamp(orders::id)).first(&mut self.db)?;
        Ok(time.unwrap())
    }

    fn between(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        Ok(of(orders::table.filter(comb_during(orders::id, since, until)).order(orders::id)
            .select(Row::as_select()).load(&mut self.db)?))
    }

    fn during(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        Ok(of(orders::table.filter(comb_created(orders::id, since..until)).order(orders::id)
            .select(Row::as_select()).load(&mut self.db)?))
    }

    fn page(&mut self, after: Uuid, size: i64) -> Result<Vec<Order>> {
        Ok(of(orders::table.filter(orders::id.gt(after)).order(orders::id).limit(size)
            .select(Row::as_select()).load(&mut self.db)?))
    }

    fn find(&mut self, number: i64) -> Result<Order> {
        Ok(order(orders::table.filter(orders::number.eq(number)).select(Row::as_select()).first(&mut self.db)?))
    }

    fn by_text(&mut self, id: &str) -> Result<Order> {
        Ok(order(orders::table.find(Uuid::parse_str(id)?).select(Row::as_select()).first(&mut self.db)?))
    }

    // Diesel does not tell the SQLSTATE.
    fn fail(&mut self) -> Result<(Option<String>, Option<String>)> {
        match diesel::sql_query("SELECT comb_generate('sequential')").execute(&mut self.db) {
            Err(diesel::result::Error::DatabaseError(_, told)) =>
                Ok((None, told.hint().map(Into::into))),
            other => Err(format!("{other:?}").into()),
        }
    }
}

fn main() -> Result<()> {
    show_versions(&["diesel"]);
    let cli = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(env::var("COMB_DIESEL")?).args(arguments)
            .args(["--database-url", &url()]).current_dir("diesel").output()?;
        Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
    };

    test("a migration makes the table, and a second run does nothing", || {
        let ran = |output: String| output.contains("Running migration 1_orders");
        Ok(ran(cli(&["migration", "run"])?) && !ran(cli(&["migration", "run"])?))
    });
    test("print-schema sees the table alone", || {
        let schema = cli(&["print-schema"])?;
        Ok(schema == include_str!("diesel/schema.rs") && schema.matches("diesel::table!").count() == 1)
    });
    let mut db = PgConnection::establish(&url())?;
    // The plan of a prepared statement must do for every period.
    diesel::sql_query("SET plan_cache_mode = force_generic_plan").execute(&mut db)?;
    check(&mut Program { db });
    done()
}
