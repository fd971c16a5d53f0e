// Marten: documents with keys of the server

#:package Marten@9.29.0
#:package Npgsql@10.0.0

using JasperFx;
using Marten;
using Marten.Linq.MatchesSql;
using Npgsql;

Tap.Versions(typeof(IDocumentStore), typeof(NpgsqlDataSource));
await using var store = DocumentStore.For(options =>
{
	options.Connection(Tap.Server);
	options.AutoCreateSchemaObjects = AutoCreate.All;
	options.Schema.For<Order>().Index(order => order.Number);
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

return Tap.Done();

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
