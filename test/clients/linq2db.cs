// linq2db, over Npgsql

#:package linq2db@6.4.0
#:package Npgsql@10.0.0

using LinqToDB;
using LinqToDB.Async;
using LinqToDB.Data;
using LinqToDB.Mapping;
using NpgsqlTypes;

Tap.Versions(typeof(DataConnection), typeof(Npgsql.NpgsqlConnection));
var mapping = new FluentMappingBuilder();
mapping.Entity<Order>().HasTableName("orders")
	.Property(order => order.Id).HasColumnName("id").IsPrimaryKey().HasSkipOnInsert()
	.Property(order => order.Number).HasColumnName("number").HasSkipOnInsert()
	.Property(order => order.Item).HasColumnName("item")
	.Property(order => order.Amount).HasColumnName("amount");
mapping.Build();
await using var db = new DataConnection(new DataOptions().UsePostgreSQL(Tap.Server).UseMappingSchema(mapping.MappingSchema));
await db.ExecuteAsync(Client.Table);
await new Orders(db).Check();

await Tap.Test("BulkCopy makes keys, in the order of the rows", async () =>
{
	await using var transaction = await db.BeginTransactionAsync();
	await db.BulkCopyAsync(new BulkCopyOptions { BulkCopyType = BulkCopyType.ProviderSpecific },
		Enumerable.Range(0, 1000).Select(i => new Order { Item = $"copy {i:0000}" }));
	var items = await db.GetTable<Order>().Where(order => order.Item.StartsWith("copy ")).OrderBy(order => order.Id)
		.Select(order => order.Item).ToListAsync();
	return items.Count == 1000 && items.SequenceEqual(items.Order());
});

return Tap.Done();

// The functions of the server, for queries only
static class Comb
{
	[Sql.Expression("comb_during({0}, {1}, {2})", ServerSideOnly = true, IsPredicate = true)]
	public static bool Between(Guid id, DateTimeOffset since, DateTimeOffset until) => throw new NotSupportedException();

	[Sql.Function("comb_timestamp", ServerSideOnly = true)]
	public static DateTimeOffset Timestamp(Guid id) => throw new NotSupportedException();
}

sealed class Orders(DataConnection db) : Client
{
	public override async Task<Order> Insert(string item) =>
		await db.GetTable<Order>().InsertWithOutputAsync(new Order { Item = item });

	public override async Task<List<Order>> Bulk(string[] items)
	{
		List<Order> orders = [];
		foreach (var item in items)
			orders.Add(await Insert(item));
		return orders;
	}

	public override async Task<Order> Upsert(string item, int amount)
	{
		await db.GetTable<Order>().InsertOrUpdateAsync(
			() => new Order { Item = item, Amount = amount }, order => new Order { Amount = amount }, () => new Order { Item = item });
		return await db.GetTable<Order>().SingleAsync(order => order.Item == item);
	}

	public override async Task<DateTime> Time(Guid id) =>
		(await db.GetTable<Order>().Where(order => order.Id == id).Select(order => Comb.Timestamp(order.Id)).SingleAsync()).UtcDateTime;

	public override Task<List<Order>> Between(DateTime since, DateTime until) =>
		db.GetTable<Order>().Where(order => Comb.Between(order.Id, new DateTimeOffset(since), new DateTimeOffset(until)))
			.OrderBy(order => order.Id).ToListAsync();

	public override Task<List<Order>> During(DateTime since, DateTime until)
	{
		var period = new NpgsqlRange<DateTime>(since, true, until, false);
		return db.QueryToListAsync<Order>("SELECT * FROM orders WHERE comb_created(id, @period) ORDER BY id",
			new DataParameter("period", period));
	}

	public override Task<List<Order>> Page(Guid after, int size) =>
		db.GetTable<Order>().Where(order => order.Id > after).OrderBy(order => order.Id).Take(size).ToListAsync();

	public override Task<Order?> Find(long number) =>
		db.GetTable<Order>().SingleOrDefaultAsync(order => order.Number == number);

	public override Task Fail() => db.ExecuteAsync("SELECT comb_generate('sequential')");
}
