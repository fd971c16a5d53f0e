// SeaORM: entities, and its schema sync

use chrono::{DateTime, Utc};
use clients::Value::*;
use clients::{DB, Order, Result, Row, check, of, query, row, show_versions, test, url, wait};
use sea_orm::ActiveValue::Set;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, Func, OnConflict};
use sea_orm::{ConnectionTrait, Database, QueryOrder, QuerySelect, RuntimeErr};
use sqlx::postgres::PgDatabaseError;

mod orders {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false, default_expr = "Expr::cust(\"comb_generate()\")")]
        pub id: Uuid,
        #[sea_orm(default_expr = "Expr::cust(\"comb_snowflake()\")")]
        pub number: i64,
        #[sea_orm(unique, column_type = "Text")]
        pub item: String,
        #[sea_orm(default_value = 1)]
        pub amount: i32,
        #[sea_orm(default_expr = "Expr::cust(\"comb_generate('rtcomb_sql')\")")]
        pub r#ref: Uuid,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
use orders::{ActiveModel, Column, Entity, Model};

fn rows(models: Vec<Model>) -> Result<Vec<Row>> {
    Ok(of(models.into_iter()
        .map(|o| Order { id: o.id, number: o.number, item: o.item, amount: o.amount, r#ref: o.r#ref }).collect()))
}

fn new(item: &str) -> ActiveModel {
    ActiveModel { item: Set(item.to_string()), ..Default::default() }
}

fn main() -> Result<()> {
    show_versions(&["sea-orm"]);
    let db = wait(Database::connect(url()))?;
    test("sync makes the table, and a second sync nothing", || {
        let tables = || -> Result<String> {
            Ok(wait(DB.query_one("SELECT string_agg(oid || relname, ' ' ORDER BY relname) FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')", &[]))?.get(0))
        };
        let sync = || wait(db.get_schema_builder().register(Entity).sync(&db));
        sync()?;
        let made = tables()?;
        sync()?;
        Ok(made.contains("orders_pkey") && tables()? == made)
    });

    let find = |query: Select<Entity>| rows(wait(query.order_by_asc(Column::Id).all(&db))?);
    check(&[], |name, text, values| match (name, values) {
        ("table", _) => Ok(vec![]),
        ("insert", [Text(item)]) => rows(vec![wait(new(item).insert(&db))?]),
        ("bulk", [Text(items)]) =>
            rows(wait(Entity::insert_many(items.split(' ').map(new)).exec_with_returning(&db))?),
        ("upsert", [Text(item), Int(amount)]) => {
            let new = ActiveModel { amount: Set(*amount), ..new(item) };
            rows(vec![wait(Entity::insert(new)
                .on_conflict(OnConflict::column(Column::Item).update_column(Column::Amount).to_owned())
                .exec_with_returning(&db))?])
        }
        ("find", &[Id(id), Long(number)]) => find(Entity::find_by_id(id).filter(Column::Number.eq(number))),
        ("time", &[Id(id)]) => {
            let time = Func::cust("comb_timestamp").arg(Expr::col(Column::Id));
            let found: Option<(String, DateTime<Utc>)> = wait(Entity::find_by_id(id).select_only()
                .column(Column::Item).expr(time).into_tuple().one(&db))?;
            Ok(found.into_iter().map(|(item, time)| row([("item", Text(item)), ("created", Time(time))])).collect())
        }
        ("during", &[Time(since), Time(until)]) => find(Entity::find().filter(
            Expr::from(Func::cust("comb_during").arg(Expr::col(Column::Id)).arg(since).arg(until))
        )),
        ("created", &[Time(since), Time(until)]) => find(Entity::find().filter(
            Expr::cust_with_values("comb_created(id, tstzrange($1, $2))", [since, until]))),
        ("page", &[Id(after), Int(size)]) => find(Entity::find().filter(Column::Id.gt(after)).limit(size as u64)),
        ("error", _) => {
            let DbErr::Exec(RuntimeErr::SqlxError(error)) = wait(db.execute_unprepared(text)).unwrap_err() else { panic!() };
            let told = error.as_database_error().unwrap().downcast_ref::<PgDatabaseError>();
            Err(format!("{} {}", told.code(), told.hint().unwrap()).into())
        }
        _ => query(text, values),
    });
    Ok(())
}
