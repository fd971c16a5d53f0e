// .NET's own Guid.CreateVersion7()

Tap.Versions(typeof(Npgsql.NpgsqlConnection));
using var oracle = new Oracle();

var until = new DateTime(9999, 12, 31, 23, 59, 59, DateTimeKind.Utc).AddMicroseconds(999_999);
oracle.Load([.. oracle.Times(DateTime.UnixEpoch, until).Select(time =>
{
	var key = Guid.CreateVersion7(time);
	return new Sample(Guid.NewGuid(), time, key);
})]);
oracle.All("comb_timestamp() is the time given", "comb_timestamp(id) = date_trunc('milliseconds', at)");
oracle.All("the key is between comb_min() and comb_max() of its millisecond",
	"id BETWEEN comb_min(date_trunc('milliseconds', at)) AND comb_max(date_trunc('milliseconds', at))");
oracle.All("and above comb_max() of the millisecond before",
	"at < timestamptz '1970-01-02+00' OR id > comb_max(date_trunc('milliseconds', at) - interval '1 ms')");
oracle.All("comb_stamp() on the key itself changes nothing", "comb_stamp(id, at) = id");
oracle.Restamped("", "uuidv7");
oracle.BeforeEpoch("", "uuidv7", time => Guid.CreateVersion7(time));
oracle.Twin("CreateVersion7", "uuidv7", "1 ms", until);
oracle.All("comb_inspect() names uuidv7",
	"EXISTS (SELECT FROM comb_inspect(id, '1970-01-01', '10000-01-01') i WHERE i.layout = 'uuidv7')");
var stamped = oracle.Ids("comb_stamp(base, at)");
Tap.Ok(stamped.All(id => id is { Version: 7, Variant: >= 8 and <= 11 }), ".NET takes stamped keys for version 7");

// The keys of a process, made one after the other
var start = DateTime.UtcNow;
oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ => new Sample(Guid.Empty, DateTime.UtcNow, Guid.CreateVersion7()))]);
oracle.All("comb_timestamp() is the clock's", $"comb_timestamp(id) BETWEEN date_trunc('milliseconds', {Oracle.Literal(start)}) " +
	$"AND {Oracle.Literal(DateTime.UtcNow)}");
return Tap.Done();
