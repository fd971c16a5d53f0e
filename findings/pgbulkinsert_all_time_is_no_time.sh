#!/usr/bin/env bash
# The range of all time is written as the empty range, if its ends are open
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: pgbulkinsert 8.1.5 of Maven Central, Java 17
# Expected: null is no bound, as it is for one end, and PostgreSQL writes [,] as (,)
# Behaviour: two open ends that are null are equal, so empty, although each was taken for infinite just before
# Output seen: [,] not (,) empty; flags 30, 1, for one end 16
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>try</groupId><artifactId>try</artifactId><version>1</version><dependencies><dependency>
<groupId>de.bytefish</groupId><artifactId>pgbulkinsert</artifactId><version>8.1.5</version>
</dependency></dependencies></project>
END
cat >Try.java <<'END'
import de.bytefish.pgbulkinsert.pgsql.model.range.Range;
import java.time.LocalDate;

public class Try {
	public static void main(String[] arguments) {
		LocalDate day = LocalDate.of(2026, 11, 27);
		Range<LocalDate> closed = new Range<>(null, true, null, true), open = new Range<>(null, false, null, false);
		System.out.printf("[,] %s (,) %s; flags %d, %d, for one end %d%n", closed.isEmpty() ? "empty" : "not",
			open.isEmpty() ? "empty" : "not", closed.getFlags(), open.getFlags(), new Range<>(day, false, null, false).getFlags());
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy-dependencies "-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java 2>/dev/null)
[ "$seen" = "[,] not (,) empty; flags 30, 1, for one end 16" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
