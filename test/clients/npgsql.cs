// Npgsql

#:package Npgsql@10.0.0

using Npgsql;
using NpgsqlTypes;

Tap.Versions(typeof(NpgsqlDataSource));
await using var source = NpgsqlDataSource.Create(Tap.Server);
await using (var table = source.CreateCommand(Client.Table))
	await table.ExecuteNonQueryAsync();
await new Orders(source).Check();

await Tap.Test("a batch makes keys in order, in one round trip", async () =>
{
	await using var batch = source.CreateBatch();
	foreach (var item in new[] { "figs", "peas", "rye" })
	{
		batch.BatchCommands.Add(new NpgsqlBatchCommand("INSERT INTO orders (item) VALUES ($1) RETURNING id")
			{ Parameters = { new() { Value = item } } });
	}
	List<Guid> ids = [];
	await using var reader = await batch.ExecuteReaderAsync();
	do
	{
		while (await reader.ReadAsync())
			ids.Add(reader.GetGuid(0));
	} while (await reader.NextResultAsync());
	return ids.Count == 3 && ids.All(Client.IsKey) && Client.InOrder(ids);
});

// Without the column id, COPY takes the default, one key for each row in their order.
async Task<bool> Copied(string column, Func<int, Guid>? key)
{
	await using var connection = await source.OpenConnectionAsync();
	await using var transaction = await connection.BeginTransactionAsync();
	await using (var writer = await connection.BeginBinaryImportAsync($"COPY orders ({column}item) FROM STDIN (FORMAT binary)"))
	{
		for (var i = 0; i < 1000; i++)
		{
			await writer.StartRowAsync();
			if (key is not null)
				await writer.WriteAsync(key(i), NpgsqlDbType.Uuid);
			await writer.WriteAsync($"copy {i:0000}", NpgsqlDbType.Text);
		}
		await writer.CompleteAsync();
	}
	await using var command = new NpgsqlCommand(
		"SELECT array_agg(item ORDER BY id) FROM orders WHERE item LIKE 'copy %'", connection, transaction);
	var items = (string[])(await command.ExecuteScalarAsync())!;
	return items.Length == 1000 && items.SequenceEqual(items.Order());
}

await Tap.Test("COPY makes keys, in the order of the rows", () => Copied("", null));

await Tap.Test("keys of Guid.CreateVersion7() are in no order within a millisecond", async () =>
	!await Copied("id, ", _ => Guid.CreateVersion7(DateTimeOffset.UnixEpoch)));

await Tap.Test("keys for COPY can be fetched before", async () =>
{
	await using var command = source.CreateCommand("SELECT comb_generate() FROM generate_series(1, $1)");
	command.Parameters.Add(new() { Value = 1000 });
	List<Guid> ids = [];
	await using (var reader = await command.ExecuteReaderAsync())
	{
		while (await reader.ReadAsync())
			ids.Add(reader.GetGuid(0));
	}
	return await Copied("id, ", i => ids[i]);
});

await Tap.Test("an unspecified time is refused", async () =>
{
	await using var command = source.CreateCommand("SELECT * FROM orders WHERE comb_during(id, $1, $2)");
	command.Parameters.Add(new() { Value = new DateTime(2026, 11, 20) });
	command.Parameters.Add(new() { Value = new DateTime(2026, 11, 21), NpgsqlDbType = NpgsqlDbType.TimestampTz });
	try
	{
		await command.ExecuteScalarAsync();
		return false;
	}
	catch (ArgumentException)
	{
		return true;
	}
});

await Tap.Test("ordered keys of parallel commands over one multiplexed pool", async () =>
{
	await using var pool = NpgsqlDataSource.Create(Tap.Server + ";Multiplexing=true;Maximum Pool Size=4");
	var before = await One();
	var made = await Task.WhenAll(Enumerable.Range(0, 200).Select(_ => One()));
	var after = await One();
	return made.Distinct().Count() == 200 && made.All(id => before < id && id < after);

	async Task<Guid> One()
	{
		await using var command = pool.CreateCommand("SELECT comb_generate_ordered()");
		return (Guid)(await command.ExecuteScalarAsync())!;
	}
});

return Tap.Done();

sealed class Orders(NpgsqlDataSource source) : Client
{
	async Task<List<Order>> Query(string sql, params object[] values)
	{
		await using var command = source.CreateCommand(sql);
		foreach (var value in values)
			command.Parameters.Add(new NpgsqlParameter { Value = value });
		await using var reader = await command.ExecuteReaderAsync();
		List<Order> orders = [];
		while (await reader.ReadAsync())
			orders.Add(new() { Id = reader.GetGuid(0), Number = reader.GetInt64(1), Item = reader.GetString(2), Amount = reader.GetInt32(3) });
		return orders;
	}

	public override async Task<Order> Insert(string item) =>
		(await Query("INSERT INTO orders (item) VALUES ($1) RETURNING *", item))[0];

	public override Task<List<Order>> Bulk(string[] items) =>
		Query("INSERT INTO orders (item) SELECT unnest($1) RETURNING *", [items]);

	public override async Task<Order> Upsert(string item, int amount) =>
		(await Query("""
			INSERT INTO orders (item, amount) VALUES ($1, $2)
			ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *
			""", item, amount))[0];

	public override async Task<DateTime> Time(Guid id)
	{
		await using var command = source.CreateCommand("SELECT comb_timestamp($1)");
		command.Parameters.Add(new() { Value = id });
		return (DateTime)(await command.ExecuteScalarAsync())!;
	}

	public override Task<List<Order>> Between(DateTime since, DateTime until) =>
		Query("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until);

	public override Task<List<Order>> During(DateTime since, DateTime until)
	{
		var period = new NpgsqlRange<DateTime>(since, true, until, false);
		return Query("SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id", period);
	}

	public override Task<List<Order>> Page(Guid after, int size) =>
		Query("SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2", after, size);

	public override async Task<Order?> Find(long number) =>
		(await Query("SELECT * FROM orders WHERE number = $1", number)).SingleOrDefault();

	public override Task Fail() => Query("SELECT comb_generate('sequential')");
}
