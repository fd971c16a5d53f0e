"""What the tools' programs in Python share."""
import os
import sys

relation, cursor, directory = sys.argv[-3:]
anywhere = os.environ["PIPELINE"].endswith("-anywhere")


def polls():
	"""Come back for one poll after another.  The one that began after the file "end" was there is the last."""
	last = False
	while not last:
		last = os.path.exists(f"{directory}/end")
		yield
		print("poll", flush=True)


def write_rows(rows):
	"""Write what has arrived: pairs of id and body."""
	with open(f"{directory}/rows", "w") as file:
		for id, body in rows:
			file.write(f"{id}|{body}\n")
