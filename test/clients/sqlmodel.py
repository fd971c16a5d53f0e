"""SQLModel, by psycopg 3"""

import uuid

import psycopg
import sqlalchemy
import sqlmodel
from sqlalchemy import BigInteger, Text, text
from sqlalchemy.dialects.postgresql import Range
from sqlmodel import Field, Session, SQLModel, create_engine, func, select

from common import check_client, done, show_versions

show_versions(sqlmodel=sqlmodel.__version__, SQLAlchemy=sqlalchemy.__version__,
              psycopg=psycopg.__version__)


class Order(SQLModel, table=True):
    __tablename__ = "orders"
    id: uuid.UUID | None = Field(default=None, primary_key=True, sa_column_kwargs={
        "server_default": text("comb_generate()")})
    number: int | None = Field(default=None, sa_type=BigInteger, nullable=False, sa_column_kwargs={
        "server_default": text("comb_snowflake()")})
    item: str = Field(sa_type=Text, unique=True)
    amount: int = 1
    ref: uuid.UUID | None = Field(default=None, nullable=False, sa_column_kwargs={
        "server_default": text("comb_generate('rtcomb_sql')")})


engine = create_engine("postgresql+psycopg://")
session = Session(engine, autoflush=False, expire_on_commit=False)
SQLModel.metadata.create_all(engine)


def insert(item):
    order = Order(item=item)
    session.add(order)
    session.commit()
    session.refresh(order)
    return order


def bulk(items):
    orders = [Order(item=item) for item in items]
    session.add_all(orders)
    session.commit()
    for order in orders:
        session.refresh(order)
    return orders


def upsert(item, amount):
    order = session.exec(select(Order).where(Order.item == item)).one()
    order.amount = amount
    session.add(order)
    session.commit()
    return order


def time(id):
    return session.exec(select(func.comb_timestamp(Order.id)).where(Order.id == id)).one()


def between(since, until):
    return session.exec(
        select(Order).where(func.comb_during(Order.id, since, until)).order_by(Order.id))


def during(since, until):
    period = Range(since, until)
    return session.exec(
        select(Order).where(func.comb_created(Order.id, period)).order_by(Order.id))


def page(after, size):
    return session.exec(select(Order).where(Order.id > after).order_by(Order.id).limit(size))


def find(number):
    return session.exec(select(Order).where(Order.number == number)).one()


# As from a request's JSON
def by_text(id):
    return session.get(Order, Order.model_validate({"id": id, "item": "bread"}).id)


def fail():
    with engine.connect() as connection:
        connection.execute(text("SELECT comb_generate('sequential')"))


def told(error):
    return error.orig.sqlstate, error.orig.diag.message_hint


check_client(insert=insert, bulk=bulk, upsert=upsert, time=time, between=between, during=during,
             page=page, find=find, fail=fail, told=told, by_text=by_text)
session.close()
done()
