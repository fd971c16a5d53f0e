// NHibernate's guid.comb

#:package NHibernate@5.7.0

using NHibernate.Id;

Tap.Versions(typeof(GuidCombGenerator));
using var oracle = new Oracle();

var generator = new GuidCombGenerator();
var made = new List<Sample>();
for (var i = 0; i < Oracle.Keys; i++)
{
	var before = DateTime.UtcNow;
	var key = (Guid)generator.Generate(null, null);
	made.Add(new(key, before, key, DateTime.UtcNow));
}
oracle.Load(made);
// The unit begins inside a microsecond, and comb_timestamp() rounds up to the next.
oracle.All("comb_timestamp() is the clock's unit of 3.333333 ms",
	"comb_timestamp(id, 'nhibernate') BETWEEN at - interval '3334 us' AND read + interval '1 us'");
oracle.All("comb_inspect() names nhibernate", "EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = 'nhibernate')");

var until = new DateTime(2079, 6, 6, 23, 59, 59).AddMicroseconds(999_999);
oracle.Load([.. oracle.Times(new DateTime(1900, 1, 1), until).Select(time =>
{
	var id = Guid.NewGuid();
	return new Sample(id, time, Comb.Make(id, time));
})]);
oracle.All("comb_stamp() is GenerateComb(base, time)", "comb_stamp(base, at, 'nhibernate') = id");
oracle.All("comb_timestamp() reads the start of the unit",
	"at - comb_timestamp(id, 'nhibernate') BETWEEN interval '0' AND interval '3333 us'");
oracle.Twin("guid.comb", "nhibernate", "3334 us", until);

// Every instant where the exact quotient is an integer: NHibernate's doubles come to one less
// at some of them.
oracle.Load([.. Enumerable.Range(1, 25_920).Select(i =>
{
	var time = new DateTime(2026, 11, 20).AddTicks(i * 33_333_330L);
	return new Sample(Guid.Empty, time, Comb.Make(Guid.Empty, time));
})]);
oracle.All("comb_stamp() has the rounding of NHibernate's doubles", "comb_stamp(base, at, 'nhibernate') = id");
oracle.Load([new(Guid.Empty, new DateTime(2026, 11, 20).AddMicroseconds(23_333_331),
	Comb.Make(Guid.Empty, new DateTime(2026, 11, 20).AddMicroseconds(23_333_331)))]);
oracle.All("which is one less at 23.333331 s", "right(id::text, 8) = lpad(to_hex(6999), 8, '0')");

return Tap.Done();

// The original's encoder, which only its generator calls
sealed class Comb : GuidCombGenerator
{
	public static Guid Make(Guid id, DateTime time) => GenerateComb(id, time);
}
