"""What the programs for Python share: the checks, and TAP

A program makes the table orders (id, number, item, amount, ref), as its client's users
would, and gives check_client() one function for each task.
"""

import sys
import traceback
import uuid
from datetime import datetime, timedelta, timezone

NIL = uuid.UUID(int=0)
count = failed = 0


# The runner copies the versions from this line into its table.
def show_versions(**versions):
    listed = ", ".join(f"{name} {version.split()[0]}" for name, version in versions.items())
    print(f"# versions: {listed}", flush=True)


def test(name, function):
    global count, failed
    count += 1
    try:
        function()
        print(f"ok {count} - {name}", flush=True)
    except Exception:
        failed += 1
        print(f"not ok {count} - {name}")
        print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "), flush=True)


def done():
    print(f"1..{count}", flush=True)
    sys.exit(1 if failed else 0)


def is_key(value):
    return isinstance(value, uuid.UUID) and value.version == 7


def column(row, name):
    return getattr(row, name) if hasattr(row, name) else row[name]


def rejects(function, *wanted):
    """Return the exception, which must be of a wanted class."""
    try:
        function()
    except wanted as error:
        return error
    raise AssertionError("there was no error")


def layout_time(ref):
    """Return the time of a key in the layout rtcomb_sql."""
    milliseconds = int.from_bytes(ref.bytes[10:], "big")
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def check_client(*, insert, bulk, upsert, time, between, during, page, find, fail, told,
                 by_text, copy=None, **periods):
    """
    Rows have the columns as the client gives them.
      insert(item)           inserts a row, and returns it
      bulk(items)            inserts rows in one statement, and returns them in order
      upsert(item, amount)   inserts or updates by item, and returns the row
      time(id)               returns the time of the key
      between(since, until)  returns the rows of a period
      during(since, until)   the same by the client's range
      page(after, size)      returns the next rows by the key
      find(number)           returns the row of a Snowflake
      fail()                 calls comb_generate('sequential')
      told(error)            returns the SQLSTATE and the hint
      by_text(id)            returns the row of a key that is a text
      copy(items)            inserts rows by COPY, and returns them in order
    Other functions are more ways to read a period, such as a prepared statement.
    """
    items = ["salt", "oil", "rice", "tea", "milk"]
    rows = []

    def from_now(**delta):
        return datetime.now(timezone.utc) + timedelta(**delta)

    def check_insert():
        rows.append(insert("bread"))
        assert is_key(column(rows[0], "id"))

    def check_bulk():
        rows.extend(bulk(items))
        ids = [column(row, "id") for row in rows]
        assert len(ids) == len(items) + 1 and all(map(is_key, ids))
        assert ids == sorted(set(ids))

    def check_upsert():
        row = upsert("bread", 7)
        assert column(row, "id") == column(rows[0], "id")
        assert column(row, "amount") == 7

    def check_time():
        at = time(column(rows[0], "id"))
        assert at.tzinfo and abs(at - from_now()) < timedelta(seconds=60)

    def check_period(period):
        def of(since, until):
            return [column(row, "item") for row in period(since, until)]

        at = time(column(rows[0], "id"))
        assert of(from_now(seconds=-60), from_now(seconds=60)) == ["bread"] + items
        assert of(from_now(hours=-2), from_now(hours=-1)) == []
        assert "bread" in of(at, at + timedelta(milliseconds=1))
        assert of(from_now(hours=-1), at) == []

    def check_pages():
        seen = []
        after = NIL
        while following := list(page(after, 4)):
            assert len(following) <= 4
            seen += [column(row, "item") for row in following]
            after = column(following[-1], "id")
        assert seen == ["bread"] + items

    def check_snowflake():
        for row in rows:
            number = column(row, "number")
            assert isinstance(number, int) and number > 2 ** 53
            assert column(find(number), "item") == column(row, "item")

    def check_text():
        row = by_text(str(column(rows[0], "id")))
        assert column(row, "item") == "bread"

    def check_layout():
        for row in rows:
            ref = column(row, "ref")
            assert isinstance(ref, uuid.UUID) and not is_key(ref)
            assert abs(layout_time(ref) - from_now()) < timedelta(seconds=60)

    def check_copy():
        ids = [column(row, "id") for row in copy(["flour", "yeast"])]
        assert len(ids) == 2 and all(map(is_key, ids)) and ids == sorted(ids)

    def check_error():
        sqlstate, hint = told(rejects(fail, Exception))
        assert sqlstate == "22023"
        assert hint.startswith("The layouts are uuidv7, ")

    test("an insert gives the id back", check_insert)
    test("rows of one statement have keys in order", check_bulk)
    test("an upsert keeps the id", check_upsert)
    test("the key has the time", check_time)
    test("a period by two timestamps", lambda: check_period(between))
    test("a period by a range", lambda: check_period(during))
    for way, period in periods.items():
        test(f"a period by two timestamps, {way.replace('_', ' ')}", lambda: check_period(period))
    test("pages by the key", check_pages)
    test("a key as text finds its row", check_text)
    test("a DEFAULT with a layout makes its keys", check_layout)
    test("a Snowflake keeps its digits", check_snowflake)
    test("an error has its SQLSTATE and hint", check_error)
    if copy:
        test("COPY makes keys", check_copy)
