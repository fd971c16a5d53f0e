// Dapper, over Npgsql

#:package Dapper@2.1.86
#:package Npgsql@10.0.0

using System.Data;
using Dapper;
using Npgsql;
using NpgsqlTypes;

Tap.Versions(typeof(SqlMapper), typeof(NpgsqlConnection));
SqlMapper.AddTypeHandler(new RangeHandler());
await using var db = new NpgsqlConnection(Tap.Server);
await db.OpenAsync();
await db.ExecuteAsync(Client.Table);
await new Orders(db).Check();

await Tap.Test("a query takes keys as an array", async () =>
{
	var ids = (await db.QueryAsync<Guid>("SELECT id FROM orders ORDER BY id")).ToArray();
	return (await db.QueryAsync<Guid>("SELECT id FROM orders WHERE id = ANY (@ids) ORDER BY id", new { ids })).SequenceEqual(ids);
});

await Tap.Test("a time without a kind is taken for a time in the session's zone", async () =>
{
	await db.ExecuteAsync("SET timezone = 'Europe/Berlin'");
	var at = new DateTime(2026, 11, 20);
	var min = await db.ExecuteScalarAsync<Guid>("SELECT comb_min(@at)", new { at });
	await db.ExecuteAsync("SET timezone = 'UTC'");
	return await db.ExecuteScalarAsync<DateTime>("SELECT comb_timestamp(@min)", new { min }) == at.AddHours(-1);
});

return Tap.Done();

sealed class Orders(NpgsqlConnection db) : Client
{
	public override Task<Order> Insert(string item) =>
		db.QuerySingleAsync<Order>("INSERT INTO orders (item) VALUES (@item) RETURNING *", new { item });

	public override async Task<List<Order>> Bulk(string[] items) =>
		[.. await db.QueryAsync<Order>("INSERT INTO orders (item) SELECT unnest(@items) RETURNING *", new { items })];

	public override Task<Order> Upsert(string item, int amount) => db.QuerySingleAsync<Order>("""
		INSERT INTO orders (item, amount) VALUES (@item, @amount)
		ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *
		""", new { item, amount });

	public override Task<DateTime> Time(Guid id) =>
		db.QuerySingleAsync<DateTime>("SELECT comb_timestamp(@id)", new { id });

	public override async Task<List<Order>> Between(DateTime since, DateTime until) =>
		[.. await db.QueryAsync<Order>("SELECT * FROM orders WHERE comb_during(id, @since, @until) ORDER BY id",
			new { since, until })];

	public override async Task<List<Order>> During(DateTime since, DateTime until)
	{
		var period = new NpgsqlRange<DateTime>(since, true, until, false);
		return [.. await db.QueryAsync<Order>("SELECT * FROM orders WHERE comb_created(id, @period) ORDER BY id",
			new { period })];
	}

	public override async Task<List<Order>> Page(Guid after, int size) =>
		[.. await db.QueryAsync<Order>("SELECT * FROM orders WHERE id > @after ORDER BY id LIMIT @size", new { after, size })];

	public override Task<Order?> Find(long number) =>
		db.QuerySingleOrDefaultAsync<Order>("SELECT * FROM orders WHERE number = @number", new { number });

	public override Task Fail() => db.ExecuteAsync("SELECT comb_generate('sequential')");
}

// Dapper does not know Npgsql's types.
sealed class RangeHandler : SqlMapper.TypeHandler<NpgsqlRange<DateTime>>
{
	public override void SetValue(IDbDataParameter parameter, NpgsqlRange<DateTime> value)
	{
		parameter.Value = value;
		((NpgsqlParameter)parameter).NpgsqlDbType = NpgsqlDbType.TimestampTzRange;
	}

	public override NpgsqlRange<DateTime> Parse(object value) => (NpgsqlRange<DateTime>)value;
}
