"""asyncpg"""

import asyncio

import asyncpg

from common import check_client

run = asyncio.new_event_loop().run_until_complete
connection = run(asyncpg.connect())
# As a pooler in transaction mode needs it
unprepared = run(asyncpg.connect(statement_cache_size=0))


def copy(items):
    run(connection.copy_records_to_table(
        "orders", columns=["item"], records=[(item,) for item in items.split()]))


check_client(query=lambda text, values: run(connection.fetch(text, *values)), place=lambda n: f"${n}",
             range=asyncpg.Range, copy=copy, told=lambda error: (error.sqlstate, error.hint),
             ways={"unprepared": lambda text, values: run(unprepared.fetch(text, *values))})
