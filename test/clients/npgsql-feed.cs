// The consumer of doc/libraries.md: writers commit late, and the consumer misses no row

#:package Npgsql@10.0.0

using Npgsql;

Tap.Versions(typeof(NpgsqlDataSource));
await using var source = NpgsqlDataSource.Create(Tap.Server);
await using (var tables = source.CreateCommand("""
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE consumer (name text PRIMARY KEY,
		last uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
	INSERT INTO consumer (name) VALUES ('mail');
	CREATE FUNCTION outbox_notify() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN NOTIFY outbox; RETURN NULL; END$$;
	CREATE TRIGGER outbox_notify AFTER INSERT ON outbox
		FOR EACH STATEMENT EXECUTE FUNCTION outbox_notify()
	"""))
{
	await tables.ExecuteNonQueryAsync();
}

// Calls handle for each row, in the order of the keys, until it is stopped.
async Task Consume(string name, Func<Guid, string, Task> handle, CancellationToken stop)
{
	await using var db = await source.OpenConnectionAsync(stop);
	await using (var listen = new NpgsqlCommand("LISTEN outbox", db))
		await listen.ExecuteNonQueryAsync(stop);
	while (!stop.IsCancellationRequested)
	{
		if (await ConsumeBatch(db, name, handle) == 0)
			await db.WaitAsync(TimeSpan.FromSeconds(1), CancellationToken.None);
	}
}

async Task<int> ConsumeBatch(NpgsqlConnection db, string name, Func<Guid, string, Task> handle)
{
	await using var transaction = await db.BeginTransactionAsync();
	await using var lasts = new NpgsqlCommand("SELECT last FROM consumer WHERE name = $1 FOR UPDATE", db)
		{ Parameters = { new() { Value = name } } };
	var last = (Guid)(await lasts.ExecuteScalarAsync())!;
	var rows = new List<(Guid Id, string Body)>();
	await using (var batch = new NpgsqlCommand("""
		SELECT id, body FROM outbox
		WHERE id > $1 AND id < comb_settled() ORDER BY id LIMIT 1000
		""", db) { Parameters = { new() { Value = last } } })
	await using (var reader = await batch.ExecuteReaderAsync())
	{
		while (await reader.ReadAsync())
			rows.Add((reader.GetGuid(0), reader.GetString(1)));
	}
	foreach (var (id, body) in rows)
		await handle(id, body);
	if (rows.Count > 0)
	{
		await using var update = new NpgsqlCommand("UPDATE consumer SET last = $2 WHERE name = $1", db)
			{ Parameters = { new() { Value = name }, new() { Value = rows[^1].Id } } };
		await update.ExecuteNonQueryAsync();
	}
	await transaction.CommitAsync();
	return rows.Count;
}

// Every second transaction stays open for up to 100 ms, and every fifth is rolled back.
async Task Write(int seed, DateTime end)
{
	var random = new Random(seed);
	await using var db = await source.OpenConnectionAsync();
	for (var n = 0; DateTime.UtcNow < end; n++)
	{
		await using var transaction = await db.BeginTransactionAsync();
		await using var insert = new NpgsqlCommand("INSERT INTO outbox (body) VALUES ($1), ($1)", db)
			{ Parameters = { new() { Value = n.ToString() } } };
		await insert.ExecuteNonQueryAsync();
		if (n % 2 == 0)
			await Task.Delay(random.Next(100));
		await (n % 5 == 4 ? transaction.RollbackAsync() : transaction.CommitAsync());
	}
}

await Tap.Test("a consumer gets each row once, in order", async () =>
{
	var end = DateTime.UtcNow.AddSeconds(4);
	using var stop = new CancellationTokenSource();
	List<Guid> got = [];
	var consuming = Consume("mail", (id, _) => { got.Add(id); return Task.CompletedTask; }, stop.Token);
	await Task.WhenAll(Enumerable.Range(0, 4).Select(seed => Write(seed, end)));
	await using var command = source.CreateCommand("SELECT array_agg(id ORDER BY id) FROM outbox");
	var all = (Guid[])(await command.ExecuteScalarAsync())!;
	for (var i = 0; i < 600 && got.Count < all.Length; i++)
		await Task.Delay(100);
	stop.Cancel();
	await consuming;
	return all.Length > 100 && got.SequenceEqual(all);
});

return Tap.Done();
