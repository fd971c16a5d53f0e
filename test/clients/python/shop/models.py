"""The tables of django.py, as Django's users write them"""

from django.db import models


class Generate(models.Func):
    function = "comb_generate"
    output_field = models.UUIDField()


class Snowflake(models.Func):
    function = "comb_snowflake"
    output_field = models.BigIntegerField()


class Between(models.Func):
    function = "comb_during"
    output_field = models.BooleanField()


class Order(models.Model):
    id = models.UUIDField(primary_key=True, db_default=Generate())
    number = models.BigIntegerField(db_default=Snowflake())
    item = models.TextField(unique=True)
    ref = models.UUIDField(db_default=Generate(models.Value("rtcomb_sql")))


# A view of the table above, with the time of the key
class TimedOrder(models.Model):
    id = models.UUIDField(primary_key=True)
    item = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "shop_timed_order"
