#!/usr/bin/env bash
# A KSUID of 2010 is of 2147 for ksuid-creator, and its own library cannot read its text
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: com.github.ksuid:ksuid 1.1.4 and com.github.f4b6a3:ksuid-creator 4.1.1 of Maven Central, Java 17
# Expected: an error for a time before 2014, where the seconds of a KSUID begin
# Behaviour: the 32 bits of seconds have a sign for ksuid only; its fromString() refuses each text above 2^31 s, also of 2083
# Output seen: ksuid 2010, ksuid-creator 2147; against 2026: object before, text after; fromString(): IllegalArgumentException
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>try</groupId><artifactId>try</artifactId><version>1</version><dependencies><dependency>
<groupId>com.github.ksuid</groupId><artifactId>ksuid</artifactId><version>1.1.4</version></dependency><dependency>
<groupId>com.github.f4b6a3</groupId><artifactId>ksuid-creator</artifactId><version>4.1.1</version>
</dependency></dependencies></project>
END
cat >Try.java <<'END'
import com.github.ksuid.Ksuid;
import java.time.*;

public class Try {
	static int year(Instant at) { return at.atZone(ZoneOffset.UTC).getYear(); }

	public static void main(String[] arguments) {
		Ksuid old = Ksuid.fromInstant(Instant.parse("2010-11-27T02:39:02Z"));
		Ksuid now = Ksuid.fromInstant(Instant.parse("2026-11-27T02:39:02Z"));
		String read;
		try {
			read = Ksuid.fromString(old.toString()).toString();
		} catch (IllegalArgumentException error) {
			read = error.getClass().getSimpleName();
		}
		System.out.printf("ksuid %d, ksuid-creator %d; against 2026: object %s, text %s; fromString(): %s%n",
			year(old.getInstant()), year(com.github.f4b6a3.ksuid.Ksuid.from(old.toString()).getInstant()),
			old.compareTo(now) < 0 ? "before" : "after",
			old.toString().compareTo(now.toString()) < 0 ? "before" : "after", read);
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy-dependencies "-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java 2>/dev/null)
[ "$seen" = "ksuid 2010, ksuid-creator 2147; against 2026: object before, text after; fromString(): IllegalArgumentException" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
