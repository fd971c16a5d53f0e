"""SQLAlchemy, by psycopg2, with Alembic's autogenerate"""

import alembic
import psycopg2
import sqlalchemy
from alembic.autogenerate import compare_metadata, produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from psycopg2.extras import DateTimeTZRange
from sqlalchemy import BigInteger, Column, Integer, Text, create_engine, func, select, text
from sqlalchemy.dialects.postgresql import UUID, insert as pg_insert
from sqlalchemy.orm import Session, declarative_base

from common import check_client, done, show_versions, test

show_versions(SQLAlchemy=sqlalchemy.__version__, Alembic=alembic.__version__,
              psycopg2=psycopg2.__version__)

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    id = Column(UUID(as_uuid=True), primary_key=True, server_default=text("comb_generate()"))
    number = Column(BigInteger, nullable=False, server_default=text("comb_snowflake()"))
    item = Column(Text, nullable=False, unique=True)
    amount = Column(Integer, nullable=False, server_default=text("1"))


engine = create_engine("postgresql://", future=True)
session = Session(engine, future=True, autoflush=False, expire_on_commit=False)


def context(connection):
    return MigrationContext.configure(
        connection, opts={"compare_type": True, "compare_server_default": True})


def migrate():
    with engine.begin() as connection:
        made = produce_migrations(context(connection), Base.metadata).upgrade_ops.ops
        assert [type(operation).__name__ for operation in made] == ["CreateTableOp"]
        for operation in made:
            Operations(context(connection)).invoke(operation)


def migrate_again():
    with engine.begin() as connection:
        assert compare_metadata(context(connection), Base.metadata) == []


def insert(item):
    order = Order(item=item)
    session.add(order)
    session.commit()
    return order


def bulk(items):
    rows = pg_insert(Order).values([{"item": item} for item in items]).returning(Order)
    orders = session.execute(select(Order).from_statement(rows)).scalars().all()
    session.commit()
    return orders


def upsert(item, amount):
    row = pg_insert(Order).values(item=item, amount=amount)
    row = row.on_conflict_do_update(
        index_elements=[Order.item], set_={"amount": row.excluded.amount}).returning(Order)
    order = session.execute(
        select(Order).from_statement(row).execution_options(populate_existing=True)).scalar_one()
    session.commit()
    return order


def time(id):
    return session.scalar(select(func.comb_timestamp(Order.id)).where(Order.id == id))


def between(since, until):
    return session.scalars(
        select(Order).where(func.comb_during(Order.id, since, until)).order_by(Order.id))


def during(since, until):
    period = DateTimeTZRange(since, until)
    return session.scalars(
        select(Order).where(func.comb_created(Order.id, period)).order_by(Order.id))


def page(after, size):
    return session.scalars(select(Order).where(Order.id > after).order_by(Order.id).limit(size))


def find(number):
    return session.scalars(select(Order).where(Order.number == number)).one()


def fail():
    with engine.connect() as connection:
        connection.execute(text("SELECT comb_generate('sequential')"))


def told(error):
    return error.orig.pgcode, error.orig.diag.message_hint


test("the first migration makes the table, and nothing else", migrate)
check_client(insert=insert, bulk=bulk, upsert=upsert, time=time, between=between, during=during,
             page=page, find=find, fail=fail, told=told)
session.close()
test("a second migration is empty", migrate_again)
done()
