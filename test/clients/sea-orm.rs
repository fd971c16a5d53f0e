// SeaORM: entities, and its schema sync

use clients::Value::*;
use clients::{DB, Result, check, query, row, test, url, wait};
use sea_orm::ActiveValue::Set;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, Func};
use sea_orm::{Database, QueryOrder};

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
        #[sea_orm(default_expr = "Expr::cust(\"comb_generate('rtcomb_sql')\")")]
        pub r#ref: Uuid,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
use orders::{ActiveModel, Column, Entity};

fn main() -> Result<()> {
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

    check(&[], |name, text, values| {
        let found = match (name, values) {
            ("table", _) => vec![],
            ("bulk", [Text(items)]) => {
                let new = items.split(' ').map(|item| ActiveModel { item: Set(item.into()), ..Default::default() });
                wait(Entity::insert_many(new).exec_with_returning(&db))?
            }
            ("during", &[Time(since), Time(until)]) => wait(Entity::find().filter(
                Expr::from(Func::cust("comb_during").arg(Expr::col(Column::Id)).arg(since).arg(until))
            ).order_by_asc(Column::Id).all(&db))?,
            ("created", _) => return query(&text.replace("$1", "tstzrange($1, $2)"), values),
            _ => return query(text, values),
        };
        Ok(found.into_iter().map(|order| row(order.id, order.number, order.item)).collect())
    });
    Ok(())
}
