// RT.Comb: each provider with each way to write the time

#:package RT.Comb@4.0.3

using RT.Comb;

Tap.Versions(typeof(Provider));
using var oracle = new Oracle();

var unix = new UnixDateTimeStrategy();
var datetime = new SqlDateTimeStrategy();
var unixEnd = new DateTime(2426, 1, 1);     // see the last test
var datetimeEnd = new DateTime(2079, 6, 6, 23, 59, 59).AddMicroseconds(999_999);
(string Layout, string Name, ICombProvider Provider, DateTime Since, DateTime Until)[] providers =
[
	("rtcomb_postgresql", "PostgreSql", Provider.PostgreSql, unix.MinDateTimeValue, unixEnd),
	("rtcomb_postgresql_datetime", "PostgreSql with SqlDateTimeStrategy", new PostgreSqlCombProvider(datetime),
		datetime.MinDateTimeValue, datetimeEnd),
	("rtcomb_sql", "Sql", Provider.Sql, unix.MinDateTimeValue, unixEnd),
	("rtcomb_legacy", "Legacy", Provider.Legacy, datetime.MinDateTimeValue, datetimeEnd),
	("rtcomb_binary", "Oracle", Provider.Oracle, unix.MinDateTimeValue, unixEnd),
	("rtcomb_binary", "SqliteBinary", Provider.SqliteBinary, unix.MinDateTimeValue, unixEnd),
	("rtcomb_binary_datetime", "Oracle with SqlDateTimeStrategy", new BinaryCombProvider(datetime),
		datetime.MinDateTimeValue, datetimeEnd),
];

// RT.Comb's time of 1/300 s is cut to 100 ns, Npgsql cuts it to microseconds, and
// comb_timestamp() rounds it up to a microsecond.
static string SameTime(string layout) => layout.EndsWith("datetime") || layout == "rtcomb_legacy"
	? $"comb_timestamp(id, '{layout}') - read IN (interval '0', interval '1 us')"
	: $"comb_timestamp(id, '{layout}') = read";

foreach (var (layout, name, provider, since, until) in providers)
{
	var made = new List<Sample>();
	var start = DateTime.UtcNow.AddMilliseconds(-4);
	for (var i = 0; i < Oracle.Keys; i++)
	{
		var key = provider.Create();
		made.Add(new(key, start, key, provider.GetTimestamp(key)));
	}
	oracle.Load(made);
	oracle.All($"{name}: comb_timestamp() is GetTimestamp()", SameTime(layout));
	oracle.All($"{name}: the time is between start and end",
		$"comb_timestamp(id, '{layout}') BETWEEN at AND timestamptz '{DateTime.UtcNow:O}'");
	oracle.All($"{name}: comb_inspect() names {layout}",
		$"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = '{layout}')");

	var times = oracle.Times(since, until);
	oracle.Load([.. times.Select(time =>
	{
		var id = oracle.Random.Next(2) == 0 ? Guid.NewGuid() : Any();
		var key = provider.Create(id, time);
		return new Sample(id, time, key, provider.GetTimestamp(key));
	})]);
	oracle.All($"{name}: comb_stamp() is Create(base, time)", $"comb_stamp(base, at, '{layout}') = id");
	oracle.All($"{name}: comb_timestamp() reads any time", SameTime(layout));
	oracle.Twin(name, layout, SameTime(layout).Contains("us") ? "3334 us" : "1 ms", until);
	var at = oracle.Ids($"comb_at(at, '{layout}')");
	Tap.Ok(at.Length == times.Count && at.Zip(times).All(pair => provider.Create(pair.First, pair.Second) == pair.First &&
			provider.GetTimestamp(pair.First) == provider.GetTimestamp(provider.Create(Guid.Empty, pair.Second))),
		$"{name}: Create(base, time) changes no bit of comb_at(), and GetTimestamp() reads it ({at.Length:N0})");
}

// Converted keys, read by the provider of the other database
foreach (var (source, target, from, to) in new[]
{
	("rtcomb_sql", "rtcomb_postgresql", Provider.Sql, Provider.PostgreSql),
	("rtcomb_legacy", "rtcomb_postgresql_datetime", Provider.Legacy, new PostgreSqlCombProvider(datetime)),
	("rtcomb_binary", "rtcomb_postgresql", Provider.Oracle, Provider.PostgreSql),
	("rtcomb_binary", "rtcomb_sql", Provider.Oracle, Provider.Sql),
})
{
	var until = source == "rtcomb_legacy" ? datetimeEnd : unixEnd;
	var since = source == "rtcomb_legacy" ? datetime.MinDateTimeValue : unix.MinDateTimeValue;
	var keys = oracle.Times(since, until).Select(time => from.Create(time)).ToList();
	oracle.Load([.. keys.Select(key => new Sample(key, DateTime.UnixEpoch, key))]);
	var converted = oracle.Ids($"comb_convert(id, '{source}', '{target}')");
	Tap.Ok(keys.Zip(converted).All(pair => from.GetTimestamp(pair.First) == to.GetTimestamp(pair.Second)),
		$"{source} to {target}: the other provider reads the same time ({keys.Count:N0})");
	oracle.All($"{source} to {target} and back",
		$"comb_convert(comb_convert(id, '{source}', '{target}'), '{target}', '{source}') = id");
}

// TimeSpan.TotalMilliseconds is a double.  After 2^57 ticks, in September 2426, it counts in
// 32 ticks, and in 512 at the end of the year 9999.  Near the ends of a millisecond RT.Comb then
// writes the one before or after.
var last = new DateTime(9999, 12, 31, 23, 59, 59, 999, DateTimeKind.Utc);
foreach (var (layout, name, provider) in new[] { ("rtcomb_postgresql", "PostgreSql", Provider.PostgreSql),
	("rtcomb_sql", "Sql", Provider.Sql), ("rtcomb_binary", "Oracle", Provider.Oracle) })
{
	oracle.Load([.. oracle.Times(unixEnd, last).Append(last).Select(time =>
	{
		var id = Any();
		var at = time.AddTicks(-(time.Ticks % TimeSpan.TicksPerMillisecond)).AddMicroseconds(oracle.Random.Next(50, 951));
		return new Sample(id, at, provider.Create(id, at));
	})]);
	oracle.All($"{name}: comb_stamp() is Create(base, time) to the year 9999, but for 50 us at the ends of a millisecond",
		$"comb_stamp(base, at, '{layout}') = id");
	oracle.All($"{name}: comb_timestamp() reads these times", $"comb_timestamp(id, '{layout}') = date_trunc('milliseconds', at)");
}

return Tap.Done();

Guid Any()
{
	var bytes = new byte[16];
	oracle.Random.NextBytes(bytes);
	return new Guid(bytes);
}
