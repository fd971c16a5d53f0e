"""psycopg2"""

import io

import psycopg2
from psycopg2.extras import DateTimeTZRange, RealDictCursor, register_uuid

from common import check_client

register_uuid()
connection = psycopg2.connect("", cursor_factory=RealDictCursor)
connection.autocommit = True
cursor = connection.cursor()


# It puts the values into the text of the query.
def query(text, values):
    cursor.execute(text, values)
    return cursor.fetchall() if cursor.description else []


def copy(items):
    cursor.copy_expert("COPY orders (item) FROM STDIN", io.StringIO(items.replace(" ", "\n") + "\n"))


check_client(query=query, range=DateTimeTZRange, copy=copy)
