#!/usr/bin/env bash
# While the clock is behind, each id of Yitter's generator is older than the one before
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: yitter-idgenerator 1.0.6 of Maven Central, Java 17
# Expected: ids stay after the last one, or an error, until the clock has caught up
# Behaviour: unused numbers of past milliseconds are given out, each 1 ms further back, past the clock itself
# Output seen: the clock went back by 2 ms, ids by 1 2 3 4 5 ms
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
cat >Try.java <<'END'
import com.github.yitter.contract.IdGeneratorOptions;
import com.github.yitter.core.SnowWorkerM1;

public class Try {
	static long now = 1795747142908L;
	public static void main(String[] arguments) {
		IdGeneratorOptions options = new IdGeneratorOptions((short) 1);
		SnowWorkerM1 worker = new SnowWorkerM1(options) {
			protected long GetCurrentTimeTick() { return now - BaseTime; }
		};
		int shift = options.WorkerIdBitLength + options.SeqBitLength;
		long last = worker.nextId() >> shift;
		now -= 2;
		System.out.print("the clock went back by 2 ms, ids by");
		for (int n = 0; n < 5; n++)
			System.out.print(" " + (last - (worker.nextId() >> shift)));
		System.out.println(" ms");
	}
}
END
mvn -q -Dmaven.repo.local="$directory/repository" dependency:copy -Dartifact=com.github.yitter:yitter-idgenerator:1.0.6 \
	"-DoutputDirectory=$directory/jars" >/dev/null 2>&1
seen=$(java -cp 'jars/*' Try.java)
[ "$seen" = "the clock went back by 2 ms, ids by 1 2 3 4 5 ms" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
