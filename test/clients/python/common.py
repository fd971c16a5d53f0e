"""The runner of statements.sql for Python

A program gives check_client() these, and functions in place of statements, which return rows:
  query(text, values)  runs a statement, and returns its rows
  place(n)             is its form of the nth parameter
  range(since, until)  makes its range of two times
  ways                 has more forms of query() for a period by two timestamps
  told(error)          returns the SQLSTATE and the hint
  insert(items)        takes a list, and stands in for the statement bulk, too
"""

import re
import sys
import traceback
import uuid
from datetime import datetime, timezone
from pathlib import Path

STATEMENT = re.compile(r"^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$", re.M)
TYPES = {"id": uuid.UUID, "ref": uuid.UUID, "number": int, "created": datetime}


def test(name, function, *arguments):
    try:
        function(*arguments)
        print(f"ok - {name}", flush=True)
    except Exception:
        print(f"not ok - {name}", flush=True)
        traceback.print_exc()


# psycopg's errors, which a mapper wraps
def psycopg_told(error):
    diagnostics = (getattr(error, "orig", None) or error.__cause__ or error).diag
    return diagnostics.sqlstate, diagnostics.message_hint


def columns(row):
    return dict(row) if hasattr(row, "keys") else vars(row)


def check_client(*, query, range, told=psycopg_told, place=lambda n: "%s", ways={}, **own):
    known = {"clock": datetime.now(timezone.utc)}
    # The table at the end of test/run has the versions of what a program imports.
    imported = [(name, sys.modules[name].__version__.split()[0]) for name in
                ("alembic", "asyncpg", "django", "psycopg", "psycopg2", "sqlalchemy") if name in sys.modules]
    print("# versions: " + ", ".join(f"{name} {version}" for name, version in imported))

    def check(name, statement, expected, query):
        names, values = [], []

        def parameter(match):
            one, since, until = match.groups()
            names.extend([one] if one else [since, until])
            values.append(known[one] if one else range(known[since], known[until]))
            return place(len(values))

        text = re.sub(r"\$(?:(\w+)|\[(\w+),(\w+)\))", parameter, statement)
        given = [known[name] for name in names]
        mine = own.get("insert" if name == "bulk" else name)
        if name in ("insert", "bulk"):
            given = [given[0].split()]
        try:
            rows = [columns(row) for row in (mine(*given) if mine else query(text, values)) or []]
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
