// SequentialGuid: version 7, and the same key arranged for SQL Server

#:package SequentialGuid@6.2.0

using SequentialGuid;

Tap.Versions(typeof(GuidV7));
using var oracle = new Oracle();

var until = new DateTime(9999, 12, 31, 23, 59, 59, DateTimeKind.Utc).AddMicroseconds(999_999);
foreach (var (layout, make) in new (string, Func<DateTime, Guid>)[] { ("uuidv7", GuidV7.NewGuid), ("rtcomb_sql", GuidV7.NewSqlGuid) })
{
	var name = layout == "uuidv7" ? "NewGuid" : "NewSqlGuid";
	oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ =>
	{
		var before = DateTime.UtcNow;
		var key = make(before);
		return new Sample(key, before, key, key.ToDateTime());
	})]);
	oracle.All($"{name}: comb_timestamp() is ToDateTime()", $"comb_timestamp(id, '{layout}') = read");
	oracle.All($"{name}: comb_inspect() names {layout}", $"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = '{layout}')");

	oracle.Load([.. oracle.Times(DateTime.UnixEpoch, until).Select(time =>
	{
		var key = make(time);
		return new Sample(key, time, key, time);
	})]);
	oracle.All($"{name}: comb_timestamp() is the time given", $"comb_timestamp(id, '{layout}') = date_trunc('milliseconds', at)");
	oracle.All($"{name}: comb_stamp() on the key itself changes nothing", $"comb_stamp(base, at, '{layout}') = id");
	oracle.Restamped($"{name}: ", layout);
	oracle.BeforeEpoch($"{name}: ", layout, make);
	oracle.Twin(name, layout, "1 ms", until);
}

// ToDateTime() reads no time in the future.
var past = oracle.Times(DateTime.UnixEpoch, new DateTime(2026, 11, 1, 0, 0, 0, DateTimeKind.Utc));
oracle.Load([.. past.Select(time => new Sample(Legacy(), time, GuidV7.NewGuid(time)))]);
Tap.Ok(oracle.Ids("comb_at(at)").Zip(oracle.Ids("id")).All(pair => pair.First.ToDateTime() == pair.Second.ToDateTime()),
	"ToDateTime() reads comb_at()");
// Versions before 6 wrote 64 bits of ticks first, as NewId's sequential form does.
Tap.Ok(oracle.Ids("comb_stamp(base, at, 'masstransit_sequential')").Zip(past).All(pair => pair.First.ToDateTime() == pair.Second),
	"ToDateTime() reads masstransit_sequential as its own keys of before version 6");

// The same key in SQL Server's order
oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ =>
{
	var key = GuidV7.NewGuid();
	return new Sample(key.ToSqlGuid(), DateTime.UtcNow, key);
})]);
oracle.All("ToSqlGuid() puts the time where rtcomb_sql has it", "comb_timestamp(base, 'rtcomb_sql') = comb_timestamp(id)");

// Version 8 counts 100 ns in 60 bits, in an order of its own.
oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ => new Sample(Guid.Empty, DateTime.UtcNow, GuidV8Time.NewGuid()))]);
oracle.All("a key of GuidV8Time has no time here", "comb_timestamp(id) IS NULL");

return Tap.Done();

// A value without the variant of RFC 9562 in either order
static Guid Legacy()
{
	var bytes = Guid.NewGuid().ToByteArray();
	bytes[6] &= 0x3f;
	bytes[8] &= 0x3f;
	return new Guid(bytes);
}
