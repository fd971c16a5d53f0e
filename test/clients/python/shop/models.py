"""The tables of django.py, as Django's users write them"""

import django
from django.db import models


class Generate(models.Func):
    function = "comb_generate"
    template = "%(function)s()"
    output_field = models.UUIDField()


class Snowflake(models.Func):
    function = "comb_snowflake"
    template = "%(function)s()"
    output_field = models.BigIntegerField()


class Between(models.Func):
    function = "comb_during"
    output_field = models.BooleanField()


class Created(models.Func):
    function = "comb_created"
    output_field = models.BooleanField()


class Timestamp(models.Func):
    function = "comb_timestamp"
    output_field = models.DateTimeField()


if django.VERSION >= (5, 0):
    class Order(models.Model):
        id = models.UUIDField(primary_key=True, db_default=Generate())
        number = models.BigIntegerField(db_default=Snowflake())
        item = models.TextField(unique=True)
        amount = models.IntegerField(db_default=1)

else:
    class Made:
        """A column that the server fills, before db_default came with Django 5.0"""
        db_returning = True

        def pre_save(self, instance, add):
            value = super().pre_save(instance, add)
            return self.maker() if value is None else value

    class KeyField(Made, models.UUIDField):
        maker = Generate

    class SnowflakeField(Made, models.BigIntegerField):
        maker = Snowflake

    class Order(models.Model):
        id = KeyField(primary_key=True, editable=False)
        number = SnowflakeField(editable=False)
        item = models.TextField(unique=True)
        amount = models.IntegerField(default=1)
