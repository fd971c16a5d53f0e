"""psycopg2"""

import io
from datetime import datetime

import psycopg2
from psycopg2.extras import DateTimeRange, DateTimeTZRange, RealDictCursor, register_uuid

from common import check_client, done, rejects, show_versions, test

show_versions(psycopg2=psycopg2.__version__)

register_uuid()
connection = psycopg2.connect("", cursor_factory=RealDictCursor)
connection.autocommit = True


def execute(query, values=None):
    cursor = connection.cursor()
    cursor.execute(query, values)
    return cursor


execute("""CREATE TABLE orders (
    id uuid PRIMARY KEY DEFAULT comb_generate(),
    number bigint NOT NULL DEFAULT comb_snowflake(),
    item text NOT NULL UNIQUE,
    amount int NOT NULL DEFAULT 1,
    ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))""")


# The plan of a prepared statement must do for every period.
execute("SET plan_cache_mode = force_generic_plan")
execute("""PREPARE period (timestamptz, timestamptz) AS
    SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id""")


def insert(item):
    return execute("INSERT INTO orders (item) VALUES (%s) RETURNING *", [item]).fetchone()


def bulk(items):
    return execute(
        "INSERT INTO orders (item) SELECT unnest(%s::text[]) RETURNING *", [items]).fetchall()


def upsert(item, amount):
    return execute(
        """INSERT INTO orders (item, amount) VALUES (%s, %s)
        ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *""",
        [item, amount]).fetchone()


def time(id):
    return execute("SELECT comb_timestamp(%s) AS created", [id]).fetchone()["created"]


def between(since, until):
    cursor = connection.cursor()
    cursor.execute(
        "SELECT * FROM orders WHERE comb_during(id, %s, %s) ORDER BY id", [since, until])
    return cursor


def during(since, until):
    cursor = connection.cursor()
    period = DateTimeTZRange(since, until)
    cursor.execute("SELECT * FROM orders WHERE id <@ %s ORDER BY id", [period])
    return cursor


def page(after, size):
    return execute(
        "SELECT * FROM orders WHERE id > %s ORDER BY id LIMIT %s", [after, size])


def find(number):
    return execute("SELECT * FROM orders WHERE number = %s", [number]).fetchone()


def by_text(id):
    return execute("SELECT * FROM orders WHERE id = %s", [id]).fetchone()


def copy(items):
    rows = io.StringIO("".join(f"{item}\n" for item in items))
    connection.cursor().copy_expert("COPY orders (item) FROM STDIN", rows)
    return execute("SELECT * FROM orders WHERE item = ANY(%s) ORDER BY id", [items])


# psycopg2 prepares nothing by itself.
def prepared(since, until):
    return execute("EXECUTE period (%s, %s)", [since, until])


def fail():
    execute("SELECT comb_generate('sequential')")


def told(error):
    return error.pgcode, error.diag.message_hint


def naive():
    period = DateTimeRange(datetime(2026, 11, 20), datetime(2026, 11, 21))
    error = rejects(
        lambda: execute("SELECT * FROM orders WHERE id <@ %s", [period]), psycopg2.Error)
    assert error.pgcode == "42883"


check_client(insert=insert, bulk=bulk, upsert=upsert, time=time, between=between, during=during,
             page=page, find=find, fail=fail, told=told, by_text=by_text, copy=copy,
             prepared=prepared)
test("a range of naive datetimes is no tstzrange", naive)
done()
