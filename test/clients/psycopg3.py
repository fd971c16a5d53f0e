"""psycopg 3"""

from datetime import datetime

import psycopg
from psycopg.rows import dict_row
from psycopg.types.range import TimestampRange, TimestamptzRange

from common import check_client, done, rejects, show_versions, test

show_versions(psycopg=psycopg.__version__)

connection = psycopg.connect(autocommit=True, row_factory=dict_row)
# The plan of a prepared statement must do for every period.
connection.execute("SET plan_cache_mode = force_generic_plan")
connection.execute("""CREATE TABLE orders (
    id uuid PRIMARY KEY DEFAULT comb_generate(),
    number bigint NOT NULL DEFAULT comb_snowflake(),
    item text NOT NULL UNIQUE,
    amount int NOT NULL DEFAULT 1,
    ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))""")


def insert(item):
    return connection.execute("INSERT INTO orders (item) VALUES (%s) RETURNING *", [item]).fetchone()


def bulk(items):
    return connection.execute(
        "INSERT INTO orders (item) SELECT unnest(%s::text[]) RETURNING *", [items]).fetchall()


def upsert(item, amount):
    return connection.execute(
        """INSERT INTO orders (item, amount) VALUES (%s, %s)
        ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *""",
        [item, amount]).fetchone()


def time(id):
    return connection.execute("SELECT comb_timestamp(%s) AS created", [id]).fetchone()["created"]


def between(since, until):
    return connection.execute(
        "SELECT * FROM orders WHERE comb_during(id, %s, %s) ORDER BY id", [since, until])


def during(since, until):
    period = TimestamptzRange(since, until)
    return connection.execute("SELECT * FROM orders WHERE id <@ %s ORDER BY id", [period])


def page(after, size):
    return connection.execute(
        "SELECT * FROM orders WHERE id > %s ORDER BY id LIMIT %s", [after, size])


def find(number):
    return connection.execute("SELECT * FROM orders WHERE number = %s", [number]).fetchone()


def by_text(id):
    return connection.execute("SELECT * FROM orders WHERE id = %s", [id]).fetchone()


def copy(items):
    with connection.cursor().copy("COPY orders (item) FROM STDIN") as copy:
        for item in items:
            copy.write_row([item])
    return connection.execute("SELECT * FROM orders WHERE item = ANY(%s) ORDER BY id", [items])


def prepared(since, until):
    return connection.execute(
        "SELECT * FROM orders WHERE comb_during(id, %s, %s) ORDER BY id", [since, until],
        prepare=True)


# It puts the values into the text of the query.
def client_side(since, until):
    cursor = psycopg.ClientCursor(connection, row_factory=dict_row)
    return cursor.execute(
        "SELECT * FROM orders WHERE comb_during(id, %s, %s) ORDER BY id", [since, until])


def fail():
    connection.execute("SELECT comb_generate('sequential')")


def told(error):
    return error.sqlstate, error.diag.message_hint


def naive():
    period = TimestampRange(datetime(2026, 11, 20), datetime(2026, 11, 21))
    error = rejects(
        lambda: connection.execute("SELECT * FROM orders WHERE id <@ %s", [period]), psycopg.Error)
    assert error.sqlstate == "42883"


check_client(insert=insert, bulk=bulk, upsert=upsert, time=time, between=between, during=during,
             page=page, find=find, fail=fail, told=told, by_text=by_text, copy=copy,
             prepared=prepared, by_a_client_cursor=client_side)
test("a range of naive datetimes is no tstzrange", naive)
done()
