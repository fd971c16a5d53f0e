"""SQLAlchemy, by psycopg 3, with Alembic's autogenerate"""

import uuid

from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations
from psycopg.types.range import TimestamptzRange
from sqlalchemy import BigInteger, DateTime, Text, create_engine, func, select, text, tuple_
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, column_property, mapped_column

from common import check_client, test


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=text("comb_generate()"))
    number: Mapped[int] = mapped_column(BigInteger, server_default=text("comb_snowflake()"))
    item: Mapped[str] = mapped_column(Text, unique=True)
    ref: Mapped[uuid.UUID] = mapped_column(server_default=text("comb_generate('rtcomb_sql'::text)"))
    created_at = column_property(func.comb_timestamp(id, type_=DateTime(timezone=True)))


engine = create_engine("postgresql+psycopg://", isolation_level="AUTOCOMMIT")
session = Session(engine, autoflush=False, expire_on_commit=False)
context = MigrationContext.configure(engine.connect(), opts={"compare_type": True, "compare_server_default": True})


def migrate():
    made = produce_migrations(context, Base.metadata).upgrade_ops
    assert "server_default=sa.text('comb_generate()')" in render_python_code(made)
    for operation in made.ops:
        Operations(context).invoke(operation)


def migrate_again():
    assert compare_metadata(context, Base.metadata) == []


def query(statement, values):
    rows = session.execute(text(statement), {f"v{n}": value for n, value in enumerate(values, 1)})
    return rows.mappings() if rows.returns_rows else []


# The session inserts them by one statement, and gets the keys back in the order of rows.
def insert(items):
    orders = [Order(item=item) for item in items]
    session.add_all(orders)
    session.commit()
    return orders


def during(since, until):
    orders = select(Order).where(func.comb_during(Order.id, since, until)).order_by(Order.id)
    return session.scalars(orders)


# The property is a condition like a column's.
def created(statement, times):
    orders = select(Order).where(Order.created_at >= times[0], Order.created_at < times[1]).order_by(Order.id)
    return session.scalars(orders)


# The newest orders, and the page after some of them; the server's log has the plans
def newest():
    session.execute(text("ALTER TABLE orders ADD CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))"))
    session.commit()
    orders = select(Order).order_by(Order.created_at.desc(), Order.id.desc()).limit(4)
    first = list(session.scalars(orders))
    after = orders.where(tuple_(Order.created_at, Order.id) < tuple_(first[1].created_at, first[1].id))
    assert list(session.scalars(after))[:2] == first[2:]
    assert session.scalar(select(func.max(Order.created_at))) == first[0].created_at


check_client(ways={"by column_property": created}, table=migrate, query=query, place=lambda n: f":v{n}", range=TimestamptzRange,
             insert=insert, during=during)
test("a second migration is empty", migrate_again)
test("lists begin with the newest, and go on after the last", newest)
