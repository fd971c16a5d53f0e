// tokio-postgres, with postgres-range

use std::io::Cursor;
use std::pin::pin;

use clients::Value::*;
use clients::{DB, Result, check, query, rows, wait};
use futures_util::SinkExt;
use postgres_range::{BoundType, Range, RangeBound};
use tokio_postgres::types::Type;

async fn copy(items: &str) -> Result<()> {
    let mut sink = pin!(DB.copy_in("COPY orders (item) FROM STDIN").await?);
    sink.send(Cursor::new(items.replace(' ', "\n"))).await?;
    sink.finish().await?;
    Ok(())
}

fn main() {
    check(&["unprepared"], |name, text, values| match (name, values) {
        ("created", &[Time(since), Time(until)]) => {
            let period = Range::new(Some(RangeBound::new(since, BoundType::Inclusive)),
                Some(RangeBound::new(until, BoundType::Exclusive)));
            Ok(rows(wait(DB.query(text, &[&period]))?))
        }
        // Not prepared under a name, as a pooler in transaction mode needs it
        ("unprepared", [Time(since), Time(until)]) =>
            Ok(rows(wait(DB.query_typed(text, &[(since, Type::TIMESTAMPTZ), (until, Type::TIMESTAMPTZ)]))?)),
        ("copy", [Text(items)]) => wait(copy(items)).map(|()| vec![]),
        _ => query(text, values),
    });
}
