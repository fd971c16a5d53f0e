// SeaORM: entities, and its schema sync

use clients::{Order, Result, Tasks, Time, check, done, show_versions, test, url};
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, Func, OnConflict};
use sea_orm::{ActiveValue::Set, ConnectionTrait, Database, QueryOrder, QuerySelect, Statement};
use tokio::runtime::{Builder, Runtime};

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

struct Program {
    runtime: Runtime,
    db: DatabaseConnection,
}

fn order(o: Model) -> Order {
    Order { id: o.id, number: o.number, item: o.item, amount: o.amount, r#ref: o.r#ref }
}

fn new(item: &str) -> ActiveModel {
    ActiveModel { item: Set(item.to_string()), ..Default::default() }
}

impl Program {
    fn find_all(&self, query: Select<Entity>) -> Result<Vec<Order>> {
        Ok(self.runtime.block_on(query.order_by_asc(Column::Id).all(&self.db))?.into_iter().map(order).collect())
    }
}

impl Tasks for Program {
    fn insert(&mut self, item: &str) -> Result<Order> {
        Ok(order(self.runtime.block_on(new(item).insert(&self.db))?))
    }

    fn bulk(&mut self, items: &[&str]) -> Result<Vec<Order>> {
        let rows = items.iter().map(|item| new(item));
        Ok(self.runtime.block_on(Entity::insert_many(rows).exec_with_returning(&self.db))?
            .into_iter().map(order).collect())
    }

    fn upsert(&mut self, item: &str, amount: i32) -> Result<Order> {
        let row = ActiveModel { amount: Set(amount), ..new(item) };
        Ok(order(self.runtime.block_on(Entity::insert(row)
            .on_conflict(OnConflict::column(Column::Item).update_column(Column::Amount).to_owned())
            .exec_with_returning(&self.db))?))
    }

    fn time(&mut self, id: Uuid) -> Result<Time> {
        let time = Func::cust("comb_timestamp").arg(Expr::col(Column::Id));
        Ok(self.runtime.block_on(Entity::find_by_id(id).select_only().expr(time).into_tuple::<Time>().one(&self.db))?.unwrap())
    }

    fn between(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        self.find_all(Entity::find().filter(
            Expr::from(Func::cust("comb_during").arg(Expr::col(Column::Id)).arg(since).arg(until))))
    }

    fn during(&mut self, since: Time, until: Time) -> Result<Vec<Order>> {
        self.find_all(Entity::find().filter(
            Expr::cust_with_values("comb_created(id, tstzrange($1, $2))", [since, until])))
    }

    fn page(&mut self, after: Uuid, size: i64) -> Result<Vec<Order>> {
        self.find_all(Entity::find().filter(Column::Id.gt(after)).limit(size as u64))
    }

    fn find(&mut self, number: i64) -> Result<Order> {
        Ok(self.find_all(Entity::find().filter(Column::Number.eq(number)))?.remove(0))
    }

    fn by_text(&mut self, id: &str) -> Result<Order> {
        Ok(self.find_all(Entity::find_by_id(Uuid::parse_str(id)?))?.remove(0))
    }

    fn fail(&mut self) -> Result<(Option<String>, Option<String>)> {
        let error = self.runtime.block_on(self.db.execute_unprepared("SELECT comb_generate('sequential')")).unwrap_err();
        let sea_orm::DbErr::Exec(sea_orm::RuntimeErr::SqlxError(error)) = error else { return Err(error.into()) };
        Ok((Some(error.as_database_error().unwrap().code().unwrap().into()), None))
    }
}

fn main() -> Result<()> {
    show_versions(&["sea-orm"]);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let db = runtime.block_on(Database::connect(url()))?;
    let tables = || -> Result<String> {
        let row = runtime.block_on(db.query_one_raw(Statement::from_string(db.get_database_backend(),
            "SELECT string_agg(oid || relname, ' ' ORDER BY relname) AS tables FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')")))?;
        Ok(row.unwrap().try_get("", "tables").unwrap_or_default())
    };
    let sync = || runtime.block_on(db.get_schema_builder().register(Entity).sync(&db));

    test("sync makes the table, and a second sync nothing", || {
        sync()?;
        let made = tables()?;
        sync()?;
        Ok(made.contains("orders_pkey") && tables()? == made)
    });
    check(&mut Program { runtime, db });
    done()
}
