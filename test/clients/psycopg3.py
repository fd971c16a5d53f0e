"""psycopg 3"""

import psycopg
from psycopg.rows import dict_row
from psycopg.types.range import TimestamptzRange

from common import check_client

connection = psycopg.connect(autocommit=True, row_factory=dict_row)


def query(text, values, **how):
    cursor = connection.execute(text, values, **how)
    return cursor.fetchall() if cursor.description else []


# It puts the values into the text of the query.
def client_side(text, values):
    return psycopg.ClientCursor(connection, row_factory=dict_row).execute(text, values)


def copy(items):
    with connection.cursor().copy("COPY orders (item) FROM STDIN") as copy:
        for item in items.split():
            copy.write_row([item])


check_client(query=query, range=TimestamptzRange, copy=copy,
             ways={"prepared": lambda text, values: query(text, values, prepare=True),
                   "by a client cursor": client_side})
