# logged: readers of public.by_client by "id" can lose rows
"""The program consumer.py: its handler fails, and it goes on; and an idle writer does not hold it up"""

import threading
import time

import psycopg

from common import test
from consumer import consume

connection = psycopg.connect(autocommit=True)
writer = psycopg.connect(autocommit=True)
print(f"# versions: psycopg {psycopg.__version__}")
writer.execute("""
    CREATE TABLE event_log (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
    CREATE TABLE event_reader (name text PRIMARY KEY, position text);
    INSERT INTO event_reader VALUES ('mail');
    CREATE TABLE mail (event_id uuid)""")


def count(what):
    return writer.execute(f"SELECT {what}").fetchone()[0]


def fails_and_goes_on():
    writer.execute("INSERT INTO event_log (body) SELECT n FROM generate_series(1, 9) AS n")
    calls = 0

    def handle(id, body):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise RuntimeError("no mail today")
        connection.execute("INSERT INTO mail VALUES (%s)", [id])

    try:
        consume(connection, "mail", handle, lambda: calls == 14)
        raise AssertionError("the handler's error is lost")
    except RuntimeError:
        pass
    writer.execute("SELECT FROM event_reader FOR UPDATE NOWAIT")
    consume(connection, "mail", handle, lambda: calls == 14)
    assert count("count(DISTINCT event_id) = 9 AND count(*) = 9 FROM mail")


def beside_an_idle_writer():
    got = []
    ended = False
    consumer = threading.Thread(target=consume, args=(
        connection, "mail", lambda id, body: got.append(body), lambda: ended))
    consumer.start()
    with psycopg.connect() as idle:
        idle.execute("INSERT INTO event_log (body) VALUES ('idle')")
        for n in range(200):
            writer.execute("INSERT INTO event_log (body) VALUES (%s)", [f"row {n}"])
        until = time.time() + 20
        while len(got) < 200 and time.time() < until:
            time.sleep(0.01)
        assert sorted(got) == sorted(f"row {n}" for n in range(200)), got
    while len(got) < 201 and time.time() < until:
        time.sleep(0.01)
    ended = True
    consumer.join()
    assert len(got) == 201 and got[-1] == "idle", got


def other_keys_warn():
    writer.execute("CREATE TABLE by_client (id uuid PRIMARY KEY)")
    notices = []
    writer.add_notice_handler(lambda n: notices.append((n.severity, n.sqlstate, n.message_primary, n.message_detail)))
    for _ in range(10):    # psycopg prepares the statement meanwhile
        assert writer.execute("SELECT * FROM by_client WHERE id < comb_settled()").fetchall() == []
    assert len(notices) == 1 and notices[0][:2] == ("WARNING", "01000"), notices
    assert "by_client" in notices[0][2] and "default is NULL" in notices[0][3], notices


test("a consumer whose handler fails can go on", fails_and_goes_on)
test("a consumer gets each row once, beside an idle writer", beside_an_idle_writer)
test("a feed over keys of clients warns, once", other_keys_warn)
