// Marten: documents with keys of the server, and its event store beside a feed of ours

#:package Marten@9.29.0
#:package Npgsql@10.0.0

using System.Collections.Concurrent;
using System.Diagnostics;
using JasperFx;
using JasperFx.Events;
using JasperFx.Events.Daemon;
using JasperFx.Events.Projections;
using Marten;
using Marten.Linq.MatchesSql;
using Marten.Services;
using Marten.Subscriptions;
using Npgsql;

Tap.Versions(typeof(IDocumentStore), typeof(NpgsqlDataSource));
var seen = new Seen();
await using var store = DocumentStore.For(options =>
{
	options.Connection(Tap.Server);
	options.AutoCreateSchemaObjects = AutoCreate.All;
	options.Schema.For<Order>().Index(order => order.Number);
	options.Events.Subscribe(seen);
});
await new Orders(store).Check();

await Tap.Test("a document without a key gets one from Marten, as version 7", async () =>
{
	await using var session = store.LightweightSession();
	var order = new Order { Item = "figs" };
	session.Store(order);
	await session.SaveChangesAsync();
	var made = await session.AdvancedSql.QueryAsync<DateTime>("SELECT comb_timestamp(?)", default, order.Id);
	return Client.IsKey(order.Id) && Math.Abs((DateTime.UtcNow - made[0]).TotalMinutes) < 1;
});

await Tap.Test("a second application of the schema is empty", async () =>
{
	await store.Storage.ApplyAllConfiguredChangesToDatabaseAsync();
	await store.Storage.Database.AssertDatabaseMatchesConfigurationAsync();
	return true;
});

// Events and rows of an outbox in the same transactions.  Every fifth is rolled back, which
// leaves a gap in Marten's numbers.
await using var source = NpgsqlDataSource.Create(Tap.Server);
await using (var outbox = source.CreateCommand(
	"CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text)"))
{
	await outbox.ExecuteNonQueryAsync();
}

async Task Append(int n, bool commit)
{
	await using var db = await source.OpenConnectionAsync();
	await using var transaction = await db.BeginTransactionAsync();
	await using var session = store.LightweightSession(SessionOptions.ForTransaction(transaction));
	session.Events.StartStream(Guid.CreateVersion7(), new Placed(n));
	await session.SaveChangesAsync();
	await using var insert = new NpgsqlCommand("INSERT INTO outbox (body) VALUES ($1)", db)
		{ Parameters = { new() { Value = n.ToString() } } };
	await insert.ExecuteNonQueryAsync();
	await (commit ? transaction.CommitAsync() : transaction.RollbackAsync());
}

await Tap.Test("a feed passes a rollback at once, and Marten's daemon after a time", async () =>
{
	using var daemon = await store.BuildProjectionDaemonAsync();
	await daemon.StartAllAsync();
	for (var n = 0; n < 20; n++)
		await Append(n, n % 5 != 3);
	var watch = Stopwatch.StartNew();
	await using var feed = source.CreateCommand("SELECT count(*) FROM outbox WHERE id < comb_settled()");
	var settled = (long)(await feed.ExecuteScalarAsync())!;
	var ours = watch.ElapsedMilliseconds;
	while (seen.Events.Count < 16 && watch.Elapsed < TimeSpan.FromMinutes(2))
		await Task.Delay(20);
	Console.WriteLine($"# all rows are settled after {ours} ms, and Marten's daemon has all events after {watch.ElapsedMilliseconds} ms");
	await daemon.StopAllAsync();
	return settled == 16 && seen.Events.Count == 16 && watch.ElapsedMilliseconds > ours;
});

await Tap.Test("both wait for a transaction that is still open", async () =>
{
	await using var db = await source.OpenConnectionAsync();
	await using (var transaction = await db.BeginTransactionAsync())
	{
		await using var insert = new NpgsqlCommand("INSERT INTO outbox (body) VALUES ('late')", db);
		await insert.ExecuteNonQueryAsync();
		await Append(100, true);
		await using var feed = source.CreateCommand("SELECT count(*) FROM outbox WHERE id < comb_settled()");
		if ((long)(await feed.ExecuteScalarAsync())! != 16)
			return false;
		await transaction.CommitAsync();
		return (long)(await feed.ExecuteScalarAsync())! == 18;
	}
});

return Tap.Done();

public record Placed(int N);

// What Marten's daemon hands on
public sealed class Seen : SubscriptionBase
{
	public readonly ConcurrentQueue<long> Events = new();

	public override Task<IChangeListener> ProcessEventsAsync(EventRange page, ISubscriptionController controller,
		IDocumentOperations operations, CancellationToken cancellationToken)
	{
		foreach (var @event in page.Events)
			Events.Enqueue(@event.Sequence);
		return Task.FromResult(NullChangeListener.Instance);
	}
}

sealed class Orders(IDocumentStore store) : Client
{
	async Task<List<Order>> Query(Func<IQuerySession, IQueryable<Order>> query)
	{
		await using var session = store.QuerySession();
		return [.. await query(session).ToListAsync()];
	}

	public override async Task<Order> Insert(string item) => (await Bulk([item]))[0];

	// The keys of the server, fetched before
	public override async Task<List<Order>> Bulk(string[] items)
	{
		await using var session = store.LightweightSession();
		var keys = await session.AdvancedSql.QueryAsync<Guid>(
			"SELECT comb_generate() FROM generate_series(1, ?)", default, items.Length);
		var numbers = await session.AdvancedSql.QueryAsync<long>(
			"SELECT comb_snowflake() FROM generate_series(1, ?)", default, items.Length);
		var orders = items.Select((item, i) => new Order { Id = keys[i], Number = numbers[i], Item = item }).ToList();
		session.Store<Order>(orders);
		await session.SaveChangesAsync();
		return orders;
	}

	public override async Task<Order> Upsert(string item, int amount)
	{
		await using var session = store.LightweightSession();
		var order = await session.Query<Order>().SingleAsync(order => order.Item == item);
		order.Amount = amount;
		session.Store(order);
		await session.SaveChangesAsync();
		return order;
	}

	public override async Task<DateTime> Time(Guid id)
	{
		await using var session = store.QuerySession();
		return (await session.AdvancedSql.QueryAsync<DateTime>("SELECT comb_timestamp(?)", default, id))[0];
	}

	public override Task<List<Order>> Between(DateTime since, DateTime until) => Query(session => session.Query<Order>()
		.Where(order => order.MatchesSql("comb_during(d.id, ?, ?)", new DateTimeOffset(since), new DateTimeOffset(until)))
		.OrderBy(order => order.Id));

	public override Task<List<Order>> During(DateTime since, DateTime until) => Query(session => session.Query<Order>()
		.Where(order => order.MatchesSql("d.id <@ tstzrange(?, ?)", new DateTimeOffset(since), new DateTimeOffset(until)))
		.OrderBy(order => order.Id));

	public override Task<List<Order>> Page(Guid after, int size) => Query(session => session.Query<Order>()
		.Where(order => order.MatchesSql("d.id > ?", after)).OrderBy(order => order.Id).Take(size));

	public override async Task<Order?> Find(long number) =>
		(await Query(session => session.Query<Order>().Where(order => order.Number == number))).SingleOrDefault();

	public override async Task Fail()
	{
		await using var session = store.QuerySession();
		await session.AdvancedSql.QueryAsync<Guid>("SELECT comb_generate('sequential')", default);
	}
}
