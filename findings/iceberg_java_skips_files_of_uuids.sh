#!/usr/bin/env bash
# A key that is in a table of Iceberg is in no file, if Java plans the scan
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: pyiceberg 0.12.0 and pyarrow 26.0.1 of PyPI, Python 3.11, iceberg-core 1.12.0 of Maven Central, Java 17
# Expected: a table of one file, with 16 keys that begin with 0 to f, is planned with this file for each of them
# Behaviour: the bounds in the manifest are in the order of the bytes, but Java compares halves of a uuid as signed numbers
# Output seen: without a filter: 1, of 16 keys planned: 0
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install "pyiceberg[pyarrow,sql-sqlite]==0.12.0" pyarrow==26.0.1
venv/bin/python - "$directory" <<'END'
import sys
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, UUIDType
catalog = SqlCatalog("c", uri=f"sqlite:///{sys.argv[1]}/c.db", warehouse=f"file://{sys.argv[1]}")
catalog.create_namespace("n")
table = catalog.create_table("n.t", Schema(NestedField(1, "id", UUIDType(), required=True)))
keys = pa.array([(n << 124 | 4 << 76 | 1 << 63).to_bytes(16, "big") for n in range(16)], pa.binary(16))
schema = pa.schema([pa.field("id", pa.uuid(), nullable=False)])
table.append(pa.table([pa.ExtensionArray.from_storage(pa.uuid(), keys)], schema=schema))
END
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>try</groupId><artifactId>try</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.iceberg</groupId><artifactId>iceberg-core</artifactId><version>1.12.0</version>
</dependency></dependencies></project>
END
cat >Try.java <<'END'
import java.util.UUID;
import org.apache.iceberg.*;
import org.apache.iceberg.expressions.*;
import org.apache.iceberg.io.*;

public class Try {
	record Local() implements FileIO {
		public InputFile newInputFile(String name) { return Files.localInput(name.replaceFirst("^file://", "")); }
		public OutputFile newOutputFile(String name) { throw new UnsupportedOperationException(); }
		public void deleteFile(String name) { throw new UnsupportedOperationException(); }
	}

	static int planned(Table table, Expression filter) throws Exception {
		int files = 0;
		try (CloseableIterable<FileScanTask> tasks = table.newScan().filter(filter).planFiles()) {
			for (FileScanTask task : tasks)
				files++;
		}
		return files;
	}

	public static void main(String[] arguments) throws Exception {
		Table table = new BaseTable(new StaticTableOperations(arguments[0], new Local()), "t");
		int found = 0;
		for (long n = 0; n < 16; n++)
			found += planned(table, Expressions.equal("id", new UUID(n << 60 | 0x4000, 1L << 63)));
		System.out.printf("without a filter: %d, of 16 keys planned: %d%n", planned(table, Expressions.alwaysTrue()), found);
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy-dependencies "-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java n/t/metadata/00001-*.json 2>/dev/null)
[ "$seen" = "without a filter: 1, of 16 keys planned: 0" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
