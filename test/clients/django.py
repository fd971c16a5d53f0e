"""Django: models, makemigrations and migrate"""

import io
import os

import django
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from common import check_client, done, is_key, show_versions, test

show_versions(Django=django.__version__)

settings.configure(
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        "USER": os.environ["PGUSER"],
        "HOST": os.environ["PGHOST"],
    }},
    INSTALLED_APPS=["shop"],
    USE_TZ=True,
)
django.setup()

from shop.models import Between, Created, Order, Timestamp  # noqa: E402


def migrate():
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)


def migrate_again():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    output = io.StringIO()
    call_command("migrate", stdout=output)
    assert "No migrations to apply" in output.getvalue()


def inspect():
    output = io.StringIO()
    call_command("inspectdb", stdout=output)
    tables = [line for line in output.getvalue().splitlines() if "db_table = " in line]
    assert [line.split("'")[1] for line in tables] == ["django_migrations", "shop_order"]


def insert(item):
    return Order.objects.create(item=item)


def bulk(items):
    orders = Order.objects.bulk_create([Order(item=item) for item in items])
    if django.VERSION >= (6, 0):
        return orders
    # A primary key with db_default is not set in these objects.
    assert not any(is_key(order.id) for order in orders)
    return Order.objects.filter(item__in=items).order_by("id")


def upsert(item, amount):
    order, _ = Order.objects.update_or_create(item=item, defaults={"amount": amount})
    return order


def time(id):
    order = Order.objects.annotate(at=Timestamp("id")).get(id=id)
    assert order.created == order.at
    return order.at


def between(since, until):
    return Order.objects.filter(Between("id", since, until)).order_by("id")


def during(since, until):
    return Order.objects.filter(Created("id", DateTimeTZRange(since, until))).order_by("id")


def page(after, size):
    return Order.objects.filter(id__gt=after).order_by("id")[:size]


def find(number):
    return Order.objects.get(number=number)


def by_text(id):
    return Order.objects.get(id=id)


def fail():
    with connection.cursor() as cursor:
        cursor.execute("SELECT comb_generate('sequential')")


def told(error):
    assert isinstance(error, DatabaseError)
    cause = error.__cause__
    return cause.sqlstate, cause.diag.message_hint


test("migrations make the table", migrate)
check_client(insert=insert, bulk=bulk, upsert=upsert, time=time, between=between, during=during,
             page=page, find=find, fail=fail, told=told, by_text=by_text)
test("a second migration is empty", migrate_again)
test("inspectdb sees the table alone", inspect)
done()
