"""SQLModel, by psycopg 3"""

import uuid

from psycopg.types.range import TimestamptzRange
from sqlalchemy import BigInteger, Text, text
from sqlmodel import Field, Session, SQLModel, create_engine, func, select

from common import check_client


class Order(SQLModel, table=True):
    __tablename__ = "orders"
    id: uuid.UUID | None = Field(default=None, primary_key=True, sa_column_kwargs={
        "server_default": text("comb_generate()")})
    number: int | None = Field(default=None, sa_type=BigInteger, nullable=False, sa_column_kwargs={
        "server_default": text("comb_snowflake()")})
    item: str = Field(sa_type=Text, unique=True)
    ref: uuid.UUID | None = Field(default=None, nullable=False, sa_column_kwargs={
        "server_default": text("comb_generate('rtcomb_sql')")})


session = Session(create_engine("postgresql+psycopg://", isolation_level="AUTOCOMMIT"), autoflush=False)


def query(statement, values):
    rows = session.execute(text(statement), {f"v{n}": value for n, value in enumerate(values, 1)})
    return rows.mappings() if rows.returns_rows else []


def insert(items):
    orders = [Order(item=item) for item in items]
    session.add_all(orders)
    session.commit()
    for order in orders:
        session.refresh(order)
    return orders


def during(since, until):
    return session.exec(
        select(Order).where(func.comb_during(Order.id, since, until)).order_by(Order.id))


check_client(table=lambda: SQLModel.metadata.create_all(session.bind), query=query, place=lambda n: f":v{n}",
             range=TimestamptzRange, insert=insert, during=during)
