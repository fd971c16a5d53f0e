"""Django: models, makemigrations and migrate"""

import os
import uuid
from datetime import timedelta

import django
from django.conf import settings
from django.core.management import call_command
from django.core.paginator import Paginator
from django.db import connection
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.utils.timezone import localdate

from common import check_client, test

# libpq has its own variables for the rest.
database = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
settings.configure(DATABASES={"default": database}, INSTALLED_APPS=["shop"], USE_TZ=True)
django.setup()

from shop.models import Between, Order, TimedOrder  # noqa: E402


def migrate():
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("CREATE VIEW shop_timed_order AS SELECT *, comb_timestamp(id) AS created_at FROM shop_order")


def migrate_again():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    call_command("migrate", check=True, verbosity=0)


def query(text, values):
    with connection.cursor() as cursor:
        cursor.execute(text.replace("orders", "shop_order"), values)
        names = [column.name for column in cursor.description or []]
        return [dict(zip(names, row)) for row in cursor.fetchall()] if names else []


def insert(items):
    if len(items) == 1:
        return [Order.objects.create(item=items[0])]
    orders = Order.objects.bulk_create([Order(item=item) for item in items])
    if django.VERSION >= (6, 0):
        return orders
    # A primary key with db_default is not set in these objects.
    assert not any(isinstance(order.id, uuid.UUID) for order in orders)
    return Order.objects.filter(item__in=items).order_by("id")


def during(since, until):
    return Order.objects.filter(Between("id", since, until)).order_by("id")


def created(text, times):
    return TimedOrder.objects.filter(created_at__gte=times[0], created_at__lt=times[1]).order_by("id")


def created_range(text, times):
    return TimedOrder.objects.filter(created_at__range=(times[0], times[1] - timedelta(microseconds=1))).order_by("id")


# For reports: Django computes the day of each row, which uses no index
def created_date(text, times):
    return TimedOrder.objects.filter(created_at__date__in={localdate(time) for time in times}).order_by("id")


# Lists and their pages, which the view's time orders; the server's log has their plans
def newest():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE shop_order ADD CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))")
    orders = TimedOrder.objects.order_by("-created_at")
    items = [order.item for order in orders[:20]]
    assert items == [order.item for order in Order.objects.order_by("-id")], items
    assert items == [order.item for page in Paginator(orders, 4) for order in page]
    assert orders.latest("created_at").item == items[0]


check_client(ways={"by a view": created, "by created_at__range": created_range, "by created_at__date": created_date}, table=migrate, query=query, range=DateTimeTZRange, insert=insert, during=during)
test("a second migration is empty", migrate_again)
test("lists begin with the newest", newest)
