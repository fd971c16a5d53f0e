// Zaabee.SequentialGuid, which has Jeremy Todd's code, as ABP has

#:package Zaabee.SequentialGuid@2021.1.0

using Zaabee.SequentialGuid;

Tap.Versions(typeof(SequentialGuidHelper));
using var oracle = new Oracle();

(string Layout, SequentialGuidType Type)[] types =
[
	("sequential_string", SequentialGuidType.SequentialAsString),
	("sequential_binary", SequentialGuidType.SequentialAsBinary),
	("sequential_end", SequentialGuidType.SequentialAtEnd),
];

foreach (var (layout, type) in types)
{
	// The original takes no time and reads none.  "At" and "Read" are the clock before and after.
	var made = new List<Sample>();
	for (var i = 0; i < Oracle.Keys; i++)
	{
		var before = DateTime.UtcNow;
		var key = SequentialGuidHelper.GenerateComb(type);
		made.Add(new(key, before, key, DateTime.UtcNow));
	}
	oracle.Load(made);
	oracle.All($"{type}: comb_timestamp() is the clock's millisecond",
		$"comb_timestamp(id, '{layout}') BETWEEN date_trunc('milliseconds', at) AND date_trunc('milliseconds', read)");
	oracle.All($"{type}: comb_inspect() names {layout}",
		$"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = '{layout}')");
	oracle.All($"{type}: comb_stamp() with the key's own time is the key",
		$"comb_stamp(id, comb_timestamp(id, '{layout}'), '{layout}') = id");
	oracle.All($"{type}: a time that is a unit later gives other keys",
		$"comb_stamp(id, comb_timestamp(id, '{layout}') + interval '1 ms', '{layout}') <> id");
	foreach (var (target, _) in types)
	{
		oracle.All($"{type} to {target} and back", $"comb_convert(comb_convert(id, '{layout}', '{target}'), '{target}', '{layout}') = id " +
			$"AND comb_timestamp(comb_convert(id, '{layout}', '{target}'), '{target}') = comb_timestamp(id, '{layout}')");
	}
}

return Tap.Done();
