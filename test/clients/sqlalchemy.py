"""SQLAlchemy, by psycopg 3, with Alembic's autogenerate"""

import uuid

import alembic
import psycopg
import sqlalchemy
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import BigInteger, Text, create_engine, func, select, text
from sqlalchemy.dialects.postgresql import Range, insert as pg_insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from common import check_client, done, show_versions, test

show_versions(SQLAlchemy=sqlalchemy.__version__, Alembic=alembic.__version__,
              psycopg=psycopg.__version__)


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=text("comb_generate()"))
    number: Mapped[int] = mapped_column(BigInteger, server_default=text("comb_snowflake()"))
    item: Mapped[str] = mapped_column(Text, unique=True)
    amount: Mapped[int] = mapped_column(server_default=text("1"))
    ref: Mapped[uuid.UUID] = mapped_column(server_default=text("comb_generate('rtcomb_sql'::text)"))


engine = create_engine("postgresql+psycopg://")
session = Session(engine, autoflush=False, expire_on_commit=False)


def context(connection):
    return MigrationContext.configure(
        connection, opts={"compare_type": True, "compare_server_default": True})


def migrate():
    with engine.begin() as connection:
        made = produce_migrations(context(connection), Base.metadata).upgrade_ops
        assert [type(operation).__name__ for operation in made.ops] == ["CreateTableOp"]
        assert "server_default=sa.text('comb_generate()')" in render_python_code(made)
        for operation in made.ops:
            Operations(context(connection)).invoke(operation)


def migrate_again():
    with engine.begin() as connection:
        assert compare_metadata(context(connection), Base.metadata) == []


def query(statement, values):
    rows = session.execute(text(statement), {f"v{n + 1}": value for n, value in enumerate(values)})
    return [row._mapping for row in rows] if rows.returns_rows else []


# The session inserts them by one statement, and gets the keys back in the order of rows.
def insert(items):
    orders = [Order(item=item) for item in items.split()]
    session.add_all(orders)
    session.commit()
    return orders


def upsert(item, amount):
    row = pg_insert(Order).values(item=item, amount=amount)
    row = row.on_conflict_do_update(
        index_elements=[Order.item], set_={"amount": row.excluded.amount}).returning(Order)
    return session.scalars(row, execution_options={"populate_existing": True}).all()


def time(id):
    return session.execute(
        select(Order.item, func.comb_timestamp(Order.id).label("created")).where(Order.id == id)).mappings()


def during(since, until):
    return session.scalars(
        select(Order).where(func.comb_during(Order.id, since, until)).order_by(Order.id))


def created(since, until):
    return session.scalars(
        select(Order).where(func.comb_created(Order.id, Range(since, until))).order_by(Order.id))


def page(after, size):
    return session.scalars(select(Order).where(Order.id > after).order_by(Order.id).limit(size))


def find(id, number):
    return session.scalars(select(Order).where(Order.id == id, Order.number == number))


def by_text(id):
    return session.scalars(select(Order).where(Order.id == uuid.UUID(id)))


# psycopg prepares a statement when it runs for the fifth time.
def prepared(_, values):
    session.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
    for _ in range(8):
        orders = during(*values).all()
    return orders


def told(error):
    session.rollback()
    return error.orig.sqlstate, error.orig.diag.message_hint


check_client(table=migrate, query=query, place=lambda n: f":v{n}", range=Range, told=told,
             insert=insert, bulk=insert, upsert=upsert, time=time, during=during, created=created,
             page=page, find=find, text=by_text, ways={"prepared": prepared})
session.commit()
test("a second migration is empty", migrate_again)
done()
