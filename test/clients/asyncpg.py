"""asyncpg"""

import asyncio

import asyncpg

from common import check_client, done, show_versions

show_versions(asyncpg=asyncpg.__version__)

loop = asyncio.new_event_loop()
run = loop.run_until_complete
connection = run(asyncpg.connect())
# The plan of a prepared statement must do for every period.
run(connection.execute("SET plan_cache_mode = force_generic_plan"))
run(connection.execute("""CREATE TABLE orders (
    id uuid PRIMARY KEY DEFAULT comb_generate(),
    number bigint NOT NULL DEFAULT comb_snowflake(),
    item text NOT NULL UNIQUE,
    amount int NOT NULL DEFAULT 1,
    ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))"""))


async def insert(item):
    return await connection.fetchrow("INSERT INTO orders (item) VALUES ($1) RETURNING *", item)


async def bulk(items):
    return await connection.fetch(
        "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING *", items)


async def upsert(item, amount):
    return await connection.fetchrow(
        """INSERT INTO orders (item, amount) VALUES ($1, $2)
        ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *""", item, amount)


async def time(id):
    return await connection.fetchval("SELECT comb_timestamp($1)", id)


async def between(since, until):
    return await connection.fetch(
        "SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)


async def during(since, until):
    period = asyncpg.Range(since, until)
    return await connection.fetch(
        "SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", period)


async def page(after, size):
    return await connection.fetch(
        "SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2", after, size)


async def find(number):
    return await connection.fetchrow("SELECT * FROM orders WHERE number = $1", number)


async def by_text(id):
    return await connection.fetchrow("SELECT * FROM orders WHERE id = $1", id)


async def copy(items):
    await connection.copy_records_to_table(
        "orders", columns=["item"], records=[(item,) for item in items])
    return await connection.fetch(
        "SELECT * FROM orders WHERE item = any($1::text[]) ORDER BY id", items)


async def prepared(since, until):
    statement = await connection.prepare(
        "SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id")
    return await statement.fetch(since, until)


# As a pooler in transaction mode needs it
async def unprepared(since, until):
    other = await asyncpg.connect(statement_cache_size=0)
    rows = await other.fetch(
        "SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until)
    await other.close()
    return rows


async def fail():
    await connection.fetch("SELECT comb_generate('sequential')")


def told(error):
    return error.sqlstate, error.hint


def waits(function):
    return lambda *arguments: run(function(*arguments))


check_client(told=told, **{function.__name__: waits(function) for function in (
    insert, bulk, upsert, time, between, during, page, find, fail, by_text, copy, prepared,
    unprepared)})
done()
