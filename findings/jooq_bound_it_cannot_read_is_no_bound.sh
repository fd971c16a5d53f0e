#!/usr/bin/env bash
# A tstzrange that ends in the year 10000, or at infinity, comes back without an end, and is so written back
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: jooq-postgres-extensions 3.19.38 of Maven Central, Java 17
# Expected: the bound, or an error: OffsetDateTime reaches to the year 999999999, and LocalDateRange raises one for infinity
# Behaviour: a bound that jOOQ's conversion to OffsetDateTime cannot read is null, and null means no bound, here also one BC
# Output seen: [2026-11-27T00:00Z,) [2026-11-27T00:00Z,) (,2026-11-28T00:00Z)
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>try</groupId><artifactId>try</artifactId><version>1</version><dependencies><dependency>
<groupId>org.jooq</groupId><artifactId>jooq-postgres-extensions</artifactId><version>3.19.38</version>
</dependency></dependencies></project>
END
cat >Try.java <<'END'
import org.jooq.postgres.extensions.converters.OffsetDateTimeRangeConverter;

public class Try {
	public static void main(String[] arguments) {
		OffsetDateTimeRangeConverter converter = new OffsetDateTimeRangeConverter();
		// As PostgreSQL writes them.
		String[] ranges = {"[\"2026-11-27 00:00:00+00\",\"10000-01-01 00:00:00+00\")",
			"[\"2026-11-27 00:00:00+00\",infinity)", "[\"0044-03-15 00:00:00+00 BC\",\"2026-11-28 00:00:00+00\")"};
		for (int n = 0; n < ranges.length; n++)
			System.out.print((n > 0 ? " " : "") + converter.to(converter.from(ranges[n])));
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy-dependencies "-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java 2>/dev/null)
[ "$seen" = "[2026-11-27T00:00Z,) [2026-11-27T00:00Z,) (,2026-11-28T00:00Z)" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
