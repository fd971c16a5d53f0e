"""psycopg2"""

import io

import psycopg2
from psycopg2.extras import DateTimeRange, DateTimeTZRange, RealDictCursor, register_uuid

from common import check_client, check_naive, done, show_versions, test

show_versions(psycopg2=psycopg2.__version__)

register_uuid()
connection = psycopg2.connect("", cursor_factory=RealDictCursor)
connection.autocommit = True
cursor = connection.cursor()


def query(text, values=None):
    cursor.execute(text, values)
    return cursor.fetchall() if cursor.description else []


# psycopg2 prepares nothing by itself.  The plan must do for every period.
def prepared(text, values):
    query("SET plan_cache_mode = force_generic_plan")
    query(f"PREPARE period (timestamptz, timestamptz) AS {text.replace('%s', '$1', 1).replace('%s', '$2')}")
    rows = query("EXECUTE period (%s, %s)", values)
    query("DEALLOCATE period")
    return rows


def copy(items):
    cursor.copy_expert("COPY orders (item) FROM STDIN", io.StringIO(items.replace(" ", "\n") + "\n"))


def told(error):
    return error.pgcode, error.diag.message_hint


check_client(query=query, range=DateTimeTZRange, told=told, copy=copy, ways={"prepared": prepared})
test("a range of naive datetimes is no tstzrange", check_naive, query, DateTimeRange, told)
done()
