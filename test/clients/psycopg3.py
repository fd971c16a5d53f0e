"""psycopg 3"""

import psycopg
from psycopg.rows import dict_row
from psycopg.types.range import TimestamptzRange

from common import check_client, test

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


def feed_goes_to_this_version():
    def run(file):
        connection.execute(open(file).read())

    run("../data/pg_comb_feed-1.0.sql")
    connection.execute("CREATE TABLE feed (id bigserial); SELECT comb_feed_add('feed_id_seq');"
                       "INSERT INTO feed DEFAULT VALUES; SELECT comb_feed_advance()")
    before = query("SELECT number FROM comb_feed", {})
    run("../../sql/portable/pg_comb_feed.sql")
    assert query("SELECT number FROM comb_feed", {}) == before == [{"number": before[0]["number"]}]
    connection.execute("SELECT comb_feed_remove('feed_id_seq'); DROP TABLE comb_feed CASCADE; DROP TABLE feed")


test("the feed's file of 1.0 goes to this version, and its bounds stay", feed_goes_to_this_version)
