"""The consumer with positions of doc/feed_readers.md: nobody holds it up, and it misses no row.

PGDATABASE=app python3 consumer.py mail     prints each new row of event_log; needs psycopg 3
"""
import sys

import psycopg


def poll(connection, name, handle):
    with connection.transaction():
        position, = connection.execute(
            "SELECT position FROM event_reader WHERE name = %s FOR UPDATE", [name]).fetchone()
        rows = connection.execute(
            """SELECT position, id, body FROM comb_position(%(since)s) AS position
               LEFT JOIN event_log ON comb_unread(id, event_log.xmin, %(since)s) ORDER BY id""",
            {"since": position}).fetchall()
        for _, id, body in rows:
            if id is not None:
                handle(id, body)
        connection.execute("UPDATE event_reader SET position = %s WHERE name = %s", [rows[0][0], name])


def consume(connection, name, handle, stopped=lambda: False):
    seen = None
    while not stopped():
        seen, = connection.execute("CALL comb_wait(%s, '1 s')", [seen]).fetchone()
        poll(connection, name, handle)


if __name__ == "__main__":
    with psycopg.connect(autocommit=True) as connection:
        consume(connection, sys.argv[1], lambda id, body: print(id, body, flush=True))
