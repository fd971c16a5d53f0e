// UUIDNext: version 7, and its version 8 for SQL Server

#:package UUIDNext@4.2.4

using UUIDNext;
using UUIDNext.Tools;

Tap.Versions(typeof(Uuid));
using var oracle = new Oracle();

foreach (var (layout, name, make, at) in new (string, string, Func<Guid>, Func<DateTimeOffset, Guid>)[]
{
	("uuidv7", "PostgreSQL", () => Uuid.NewDatabaseFriendly(Database.PostgreSql), UuidToolkit.CreateUuidV7FromSpecificDate),
	("rtcomb_sql", "SQL Server", () => Uuid.NewDatabaseFriendly(Database.SqlServer),
		UuidToolkit.CreateSequentialUuidForSqlServerFromSpecificDate),
})
{
	var start = DateTime.UtcNow;
	oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ => Read(make(), start))]);
	oracle.All($"{name}: comb_timestamp() is TryDecodeTimestamp()", $"comb_timestamp(id, '{layout}') = read");
	oracle.All($"{name}: comb_inspect() names {layout}", $"EXISTS (SELECT FROM comb_inspect(id, until => 'infinity') i WHERE i.layout = '{layout}')");

	var until = new DateTime(9999, 12, 31, 0, 0, 0, DateTimeKind.Utc);
	oracle.Load([.. oracle.Times(DateTime.UnixEpoch, until).Select(time => Read(at(time), time))]);
	oracle.All($"{name}: comb_timestamp() is the time given", $"comb_timestamp(id, '{layout}') = date_trunc('milliseconds', at)");
	oracle.All($"{name}: comb_stamp() on the key itself changes nothing", $"comb_stamp(id, at, '{layout}') = id");
	oracle.Restamped($"{name}: ", layout);
	oracle.BeforeEpoch($"{name}: ", layout, time => at(time));
	oracle.Twin(name, layout, "1 ms", until);
}

return Tap.Done();

static Sample Read(Guid key, DateTime time) =>
	new(key, time, key, UuidDecoder.TryDecodeTimestamp(key, out var read) ? read : null);
