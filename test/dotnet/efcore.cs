// EF Core's SequentialGuidValueGenerator

#:package Microsoft.EntityFrameworkCore@10.0.0

using System.Reflection;
using Microsoft.EntityFrameworkCore.ValueGeneration;

Tap.Versions(typeof(SequentialGuidValueGenerator));
using var oracle = new Oracle();

// The generator counts 100 ns from the clock of its own start.
var start = DateTime.UtcNow;
var generator = new SequentialGuidValueGenerator();
var made = DateTime.UtcNow;
oracle.Load([.. Enumerable.Range(1, Oracle.Keys).Select(i =>
{
	var key = generator.Next(null!);
	return new Sample(key, start.AddTicks(i), key, made.AddTicks(i));
})]);
oracle.All("comb_timestamp() is the start and 100 ns for each key", "comb_timestamp(id, 'efcore') BETWEEN at AND read");
oracle.All("comb_inspect() names efcore", "EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = 'efcore')");
oracle.All("the keys are in SQL Server's order", "n = 0 OR id #># (SELECT p.id FROM sample p WHERE p.n = 0)");

// Any time: the generator's counter is set before each key.
var counter = typeof(SequentialGuidValueGenerator).GetField("_counter", BindingFlags.Instance | BindingFlags.NonPublic)!;
var until = new DateTime(9999, 12, 31, 23, 59, 59, DateTimeKind.Utc).AddMicroseconds(999_999);
var times = oracle.Times(new DateTime(1, 1, 1), until);
oracle.Load([.. times.Select(time =>
{
	counter.SetValue(generator, time.Ticks - 1);
	var key = generator.Next(null!);
	return new Sample(key, time, key);
})]);
oracle.All("comb_timestamp() reads any time", "comb_timestamp(id, 'efcore') = at");
oracle.All("comb_stamp() on the key itself changes nothing", "comb_stamp(id, at, 'efcore') = id");
oracle.Restamped("", "efcore");
oracle.Twin("efcore", "efcore", "1 us", until);
oracle.All("to masstransit_sequential and back",
	"comb_convert(comb_convert(id, 'efcore', 'masstransit_sequential'), 'masstransit_sequential', 'efcore') = id");

return Tap.Done();
