"""Apache Spark by JDBC: batch after batch, each in a directory of its own

By id, a batch is what one query finds above the last id, and the next batch begins at what was
written.  By number, four connections read a part each: the largest number is asked first,
and no part goes beyond.
"""
import os

from common import cursor, directory, polls, relation, write_rows

from pyspark.sql import SparkSession, functions

spark = (SparkSession.builder.master("local[2]")
	.config("spark.jars", ",".join(f"{os.environ['JARS']}/{jar}" for jar in os.listdir(os.environ["JARS"])))
	.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
	.config("spark.driver.memory", "768m").config("spark.ui.enabled", "false")
	.config("spark.local.dir", directory).config("spark.sql.warehouse.dir", f"{directory}/warehouse").getOrCreate())
url = "jdbc:postgresql://127.0.0.1:{PGPORT}/{PGDATABASE}?user={PGUSER}".format(**os.environ)
copy, state = f"{directory}/copy", f"{directory}/last"


def read(query, **options):
	return spark.read.jdbc(url, f"({query}) AS batch", properties={"driver": "org.postgresql.Driver"}, **options)


def batch_by_id(last):
	return read(f"SELECT id, body FROM {relation} WHERE id > '{last}'")


def batch_by_number(last):
	most = read(f"SELECT max(number) AS most FROM {relation}").first()["most"] or 0
	return read(f"SELECT id, body, number FROM {relation} WHERE number > {last} AND number <= {most}",
		column="number", lowerBound=int(last), upperBound=max(most, int(last) + 1), numPartitions=4)


last = "0" if cursor == "number" else "00000000-0000-0000-0000-000000000000"
if os.path.exists(state):
	with open(state) as file:
		last = file.read()
for _ in polls():
	batch = (batch_by_number if cursor == "number" else batch_by_id)(last)
	# snappy's library takes a system that has musl's loader, too, for Alpine
	batch.write.mode("overwrite").option("compression", "gzip").parquet(f"{copy}/batch={last}")
	written = spark.read.schema(batch.schema).parquet(f"{copy}/batch={last}").agg(functions.max(cursor)).first()[0]
	if written is not None:
		last = str(written)
		with open(f"{state}.new", "w") as file:
			file.write(last)
		os.rename(f"{state}.new", state)

write_rows(spark.read.parquet(copy).select("id", "body").collect())
