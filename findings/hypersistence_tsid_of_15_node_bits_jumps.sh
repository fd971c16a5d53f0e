#!/usr/bin/env bash
# With more than 14 bits for the node, the second TSID of a millisecond is 4.7 hours ahead
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: hypersistence-tsid 2.1.4 of Maven Central, Java 17
# Expected: the same millisecond, or the next: withNodeBits() takes "a number that must be between 0 and 20"
# Behaviour: the thread's number, here 1, is shifted by the bits of the counter less 8, by -1 as by 31, and is a carry then
# Output seen: 14 bits: 0 ms ahead, 15 bits: 16777216 ms ahead
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>try</groupId><artifactId>try</artifactId><version>1</version><dependencies><dependency>
<groupId>io.hypersistence</groupId><artifactId>hypersistence-tsid</artifactId><version>2.1.4</version>
</dependency></dependencies></project>
END
cat >Try.java <<'END'
import io.hypersistence.tsid.TSID;
import java.time.*;

public class Try {
	static Instant now = Instant.parse("2026-11-27T02:39:02.908Z");

	static String ahead(int bits) {
		TSID.Factory factory = TSID.Factory.builder().withNodeBits(bits).withNode(1).withClock(new Clock() {
			public Instant instant() { return now; }
			public ZoneId getZone() { return ZoneOffset.UTC; }
			public Clock withZone(ZoneId zone) { return this; }
		}).build();
		now = now.plusMillis(1);
		factory.generate();
		return bits + " bits: " + Duration.between(now, factory.generate().getInstant()).toMillis() + " ms ahead";
	}

	public static void main(String[] arguments) {
		System.out.println(ahead(14) + ", " + ahead(15));
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy-dependencies "-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java 2>/dev/null)
[ "$seen" = "14 bits: 0 ms ahead, 15 bits: 16777216 ms ahead" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
