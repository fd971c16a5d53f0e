#!/usr/bin/env bash
# UuidGenerator.Style.TIME makes keys of version 1 without a time of version 1
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: hibernate-core 7.4.15.Final of Maven Central, Java 17
# Expected: the 60 bits of UUID.timestamp() are the time of creation
# Behaviour: milliseconds are behind the variant, and the version is set over other bits
# Output seen: version 1, behind the variant: now, timestamp(): another year
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>try</groupId><artifactId>try</artifactId><version>1</version><dependencies><dependency>
<groupId>org.hibernate.orm</groupId><artifactId>hibernate-core</artifactId><version>7.4.15.Final</version>
</dependency></dependencies></project>
END
cat >Try.java <<'END'
import java.time.*;
import java.util.UUID;
import org.hibernate.id.uuid.CustomVersionOneStrategy;

public class Try {
	public static void main(String[] arguments) {
		UUID key = new CustomVersionOneStrategy().generateUuid(null);
		long behind = (key.getLeastSignificantBits() >>> 16) & 0x3fffffffffffL;
		long seconds = key.timestamp() / 10000000 - 12219292800L;
		System.out.printf("version %d, behind the variant: %s, timestamp(): %s%n", key.version(),
			Math.abs(behind - System.currentTimeMillis()) < 60000 ? "now" : behind,
			Math.abs(seconds - System.currentTimeMillis() / 1000) > 31536000 ? "another year" : seconds);
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy-dependencies "-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java 2>/dev/null)
[ "$seen" = "version 1, behind the variant: now, timestamp(): another year" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
