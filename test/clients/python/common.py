"""The runner of statements.sql for Python, and TAP

A program gives check_client() these, and functions in place of statements, which return rows:
  query(text, values)  runs a statement, and returns its rows
  place(n)             is its form of the nth parameter
  range(since, until)  makes its range of two times
  ways                 has more forms of query() for a period by two timestamps
  told(error)          returns the SQLSTATE and the hint
"""

import re
import sys
import traceback
import uuid
from datetime import datetime, timezone
from pathlib import Path

STATEMENT = re.compile(r"^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$", re.M)
TYPES = {"id": uuid.UUID, "ref": uuid.UUID, "number": int, "created": datetime}
count = failed = 0


# The runner copies the versions from this line into its table.
def show_versions(**versions):
    listed = ", ".join(f"{name} {version.split()[0]}" for name, version in versions.items())
    print(f"# versions: {listed}", flush=True)


def test(name, function, *arguments):
    global count, failed
    count += 1
    try:
        function(*arguments)
        print(f"ok {count} - {name}", flush=True)
    except Exception:
        failed += 1
        print(f"not ok {count} - {name}")
        print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "), flush=True)


def done():
    print(f"1..{count}", flush=True)
    sys.exit(1 if failed else 0)


def check_naive(query, range, told):
    """A range of times without a zone is no tstzrange."""
    try:
        query("SELECT * FROM orders WHERE id <@ %s", [range(datetime(2026, 11, 20), datetime(2026, 11, 21))])
    except Exception as error:
        assert told(error)[0] == "42883"
    else:
        raise AssertionError("there was no error")


def columns(row):
    return dict(row) if hasattr(row, "keys") else vars(row)


def check_client(*, query, range, told, place=lambda n: "%s", ways={}, **own):
    known = {"clock": datetime.now(timezone.utc)}

    def check(name, statement, expected, query):
        names, values = [], []

        def parameter(match):
            one, since, until = match.groups()
            names.extend([one] if one else [since, until])
            values.append(known[one] if one else range(known[since], known[until]))
            return place(len(values))

        text = re.sub(r"\$(?:(\w+)|\[(\w+),(\w+)\))", parameter, statement)
        try:
            rows = own[name](*[known[name] for name in names]) if name in own else query(text, values)
            rows = [columns(row) for row in rows or []]
            answer = " ".join(row["item"] for row in rows)
        except Exception as error:
            if name != "error":
                raise
            sqlstate, hint = told(error)
            rows, answer = [], f"{sqlstate} {hint.split(',')[0]}"
        assert answer == expected.strip(), answer
        for column, value in rows[-1].items() if rows else ():
            assert isinstance(value, TYPES.get(column, object)), (column, value)
            known[column] = value

    for name, title, statement, expected in STATEMENT.findall(Path("statements.sql").read_text()):
        test(title, check, name, statement, expected, query)
        for way, other in ways.items() if name == "during" else ():
            test(f"{title}, {way}", check, name, statement, expected, other)
