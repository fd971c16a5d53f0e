// MassTransit's NewId

#:package MassTransit.Abstractions@9.2.6

using MassTransit;
using MassTransit.NewIdProviders;

Tap.Versions(typeof(NewId));
using var oracle = new Oracle();

var start = DateTime.UtcNow;
var next = Enumerable.Range(0, Oracle.Keys).Select(_ => NewId.Next()).ToList();
var end = DateTime.UtcNow.AddSeconds(1);

foreach (var (layout, toGuid, fromGuid) in new (string, Func<NewId, Guid>, Func<Guid, NewId>)[]
{
	("masstransit", id => id.ToGuid(), guid => NewId.FromGuid(guid)),
	("masstransit_sequential", id => id.ToSequentialGuid(), guid => NewId.FromSequentialGuid(guid)),
})
{
	// NewId counts 100 ns, and comb_timestamp() cuts to microseconds, as Npgsql does.
	oracle.Load([.. next.Select(id => new Sample(toGuid(id), start, toGuid(id), id.Timestamp))]);
	oracle.All($"{layout}: comb_timestamp() is Timestamp", $"comb_timestamp(id, '{layout}') = read");
	oracle.All($"{layout}: the time is between start and end",
		$"comb_timestamp(id, '{layout}') BETWEEN {Oracle.Literal(start)} - interval '1 ms' AND {Oracle.Literal(end)}");
	oracle.All($"{layout}: comb_inspect() names it", $"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = '{layout}')");

	var times = oracle.Times(new DateTime(1, 1, 1), new DateTime(9999, 12, 31));
	oracle.Load([.. next.Zip(times).Select(pair =>
		new Sample(toGuid(pair.First), pair.Second, toGuid(Made(pair.Second)), pair.Second))]);
	oracle.All($"{layout}: comb_timestamp() reads any time", $"comb_timestamp(id, '{layout}') = at");
	oracle.All($"{layout}: comb_stamp() on the key itself changes nothing", $"comb_stamp(id, at, '{layout}') = id");
	oracle.Restamped($"{layout}: ", layout);
	oracle.All($"{layout}: a time that is a unit later gives other keys",
		$"comb_stamp(id, at + interval '1 us', '{layout}') <> id");
	Tap.Ok(oracle.Ids($"comb_stamp(base, at, '{layout}')").Zip(times).All(pair => fromGuid(pair.First).Timestamp == pair.Second),
		$"{layout}: Timestamp reads comb_stamp() ({times.Count:N0})");
}

foreach (var (name, layout, make) in new (string, string, Func<Guid>)[]
{
	("NextGuid()", "masstransit", NewId.NextGuid), ("NextSequentialGuid()", "masstransit_sequential", NewId.NextSequentialGuid),
})
{
	start = DateTime.UtcNow;
	var keys = Enumerable.Range(0, Oracle.Keys).Select(_ => make()).ToList();
	oracle.Load([.. keys.Select(key => new Sample(key, start, key))]);
	oracle.All($"{name} has the clock's time",
		$"comb_timestamp(id, '{layout}') BETWEEN at - interval '1 ms' AND {Oracle.Literal(DateTime.UtcNow.AddSeconds(1))}");
}

// To the other form and back; the time is the same, read by NewId
oracle.Load([.. next.Select(id => new Sample(id.ToSequentialGuid(), id.Timestamp, id.ToGuid()))]);
oracle.All("masstransit to masstransit_sequential and back",
	"comb_convert(comb_convert(id, 'masstransit', 'masstransit_sequential'), 'masstransit_sequential', 'masstransit') = id");
Tap.Ok(oracle.Ids("comb_convert(id, 'masstransit', 'masstransit_sequential')").Zip(next)
	.All(pair => NewId.FromSequentialGuid(pair.First).Timestamp == pair.Second.Timestamp), "NewId reads the converted key's time");
Tap.Ok(oracle.Count("comb_convert(id, 'masstransit', 'masstransit_sequential') = base") == 0,
	"ToSequentialGuid() has the other bytes in another order");

return Tap.Done();

// A NewId of a given time: ticks in the first two words
NewId Made(DateTime time)
{
	var generator = new NewIdGenerator(new FixedTick(time.Ticks), new FixedWorker(oracle.Random));
	return generator.Next();
}

sealed class FixedTick(long ticks) : ITickProvider
{
	public long Ticks => ticks;
}

sealed class FixedWorker(Random random) : IWorkerIdProvider
{
	public byte[] GetWorkerId(int index)
	{
		var id = new byte[6];
		random.NextBytes(id);
		return id;
	}
}
