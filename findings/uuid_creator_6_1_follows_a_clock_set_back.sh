#!/usr/bin/env bash
# From 6.1 on uuid-creator follows a clock that goes back at once
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: uuid-creator 6.0.0 and 6.1.1 of Maven Central, Java 17
# Expected: both keep the last time for ten seconds, as 6.0 does
# Behaviour: keys of 6.1.1 go back with the clock, by 5 s here
# Output seen: 6.0.0: 0 ms, 6.1.1: -5000 ms
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >Try.java <<'END'
import com.github.f4b6a3.uuid.factory.standard.TimeOrderedEpochFactory;
import java.time.*;

public class Try {
	static long now = 1795747142908L;
	public static void main(String[] arguments) {
		Clock clock = new Clock() {
			public ZoneId getZone() { return ZoneOffset.UTC; }
			public Clock withZone(ZoneId zone) { return this; }
			public Instant instant() { return Instant.ofEpochMilli(now); }
			public long millis() { return now; }
		};
		TimeOrderedEpochFactory factory = TimeOrderedEpochFactory.builder().withClock(clock).build();
		long before = factory.create().getMostSignificantBits() >>> 16;
		now -= 5000;
		System.out.println((factory.create().getMostSignificantBits() >>> 16) - before);
	}
}
END
for version in 6.0.0 6.1.1; do
	mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy "-Dartifact=com.github.f4b6a3:uuid-creator:$version" \
		"-DoutputDirectory=$directory/$version" >/dev/null 2>&1
done
seen="6.0.0: $(java -cp '6.0.0/*' Try.java) ms, 6.1.1: $(java -cp '6.1.1/*' Try.java) ms"
[ "$seen" = "6.0.0: 0 ms, 6.1.1: -5000 ms" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
