// What keys of the server and of the client cost: the table of test/README.md
//
// ROUNDS is how often each way takes its turn; its best round counts.  Round trips are counted by a proxy, which the times do without.

#:package Npgsql.EntityFrameworkCore.PostgreSQL@10.0.0
#:package Microsoft.EntityFrameworkCore.Relational@10.0.11

using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Microsoft.EntityFrameworkCore;
using Npgsql;
using NpgsqlTypes;

const int rows = 1000;
var rounds = int.Parse(Environment.GetEnvironmentVariable("ROUNDS") ?? "15");
Tap.Versions(typeof(NpgsqlConnection), typeof(DbContext));

using var proxy = new Proxy(Environment.GetEnvironmentVariable("PGHOST")!, int.Parse(Environment.GetEnvironmentVariable("PGPORT")!));
await using var direct = NpgsqlDataSource.Create(Tap.Server);
await using var proxied = NpgsqlDataSource.Create(Tap.Server + $";Port={proxy.Port}");
await Run(direct, "CREATE EXTENSION pg_comb");
await Run(direct, "CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate(), n int NOT NULL)");

(string Name, Func<NpgsqlDataSource, Task> Insert)[] ways =
[
	("`SaveChanges()`, `comb_generate()` in the server", source => Save(new ServedContext(source))),
	("the same with `AsAdded`", source => Save(new AsAddedContext(source))),
	("`SaveChanges()`, `Guid.CreateVersion7()` in the client", source => Save(new Context(source))),
	("`COPY`, `comb_generate()` in the server", source => Copy(source, null)),
	("`COPY`, `Guid.CreateVersion7()` in the client", source => Copy(source, Guid.CreateVersion7)),
	("`NpgsqlBatch` with `RETURNING id`, `comb_generate()`", source => Batch(source, null)),
	("`NpgsqlBatch`, `Guid.CreateVersion7()` in the client", source => Batch(source, Guid.CreateVersion7)),
	("one `INSERT … RETURNING id` for each row, `comb_generate()`", source => Each(source, null)),
	("one `INSERT` for each row, `Guid.CreateVersion7()`", source => Each(source, Guid.CreateVersion7)),
];
var best = ways.ToDictionary(way => way.Name, _ => TimeSpan.MaxValue);
var down = ways.ToDictionary(way => way.Name, _ => 0L);
for (var round = 0; round <= rounds; round++)       // the first warms up
{
	foreach (var (name, insert) in ways)
	{
		await Run(direct, "TRUNCATE orders");
		var watch = Stopwatch.StartNew();
		await insert(direct);
		var time = watch.Elapsed;
		if (round > 0 && time < best[name])
			best[name] = time;
		down[name] = Math.Max(down[name], await Down());
	}
}

var quickest = best.Values.Min();
Console.WriteLine("| 1,000 rows | time | round trips | `ORDER BY id` is the order of insertion |");
Console.WriteLine("|---|---:|---:|---|");
foreach (var (name, insert) in ways)
{
	// The first opens the connection.  A long message can cross with an early answer, which
	// looks like one more round trip.
	var trips = int.MaxValue;
	for (var i = 0; i < 5; i++)
	{
		proxy.Trips = 0;
		await insert(proxied);
		trips = Math.Min(trips, proxy.Trips);
	}
	Console.WriteLine($"| {name} | {best[name] / quickest:0.0} | {trips:N0} | " +
		$"{(down[name] == 0 ? "yes" : $"no, {down[name]} keys are below the one before")} |");
}
Console.WriteLine($"| 1.0 is {quickest.TotalMilliseconds:0.0} ms here, the best of {rounds} rounds | | | |");
Tap.Ok(ways.All(way => down[way.Name] == 0 == (way.Name != ways[0].Name && !way.Name.Contains("CreateVersion7"))),
	"keys of the server are in the order of insertion, but for EF Core's own temporary keys");
return Tap.Done();

static async Task Run(NpgsqlDataSource source, string sql)
{
	await using var command = source.CreateCommand(sql);
	await command.ExecuteNonQueryAsync();
}

// How many keys are below the one of the row before
async Task<long> Down()
{
	await using var command = direct.CreateCommand(
		"SELECT count(*) FILTER (WHERE id < before) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM orders) o");
	return (long)(await command.ExecuteScalarAsync())!;
}

static async Task Save(Context made)
{
	await using var context = made;
	for (var i = 0; i < rows; i++)
		context.Add(new Row { N = i });
	await context.SaveChangesAsync();
}

static async Task Copy(NpgsqlDataSource source, Func<Guid>? key)
{
	await using var db = await source.OpenConnectionAsync();
	await using var writer = await db.BeginBinaryImportAsync($"COPY orders ({(key is null ? "" : "id, ")}n) FROM STDIN (FORMAT binary)");
	for (var i = 0; i < rows; i++)
	{
		await writer.StartRowAsync();
		if (key is not null)
			await writer.WriteAsync(key(), NpgsqlDbType.Uuid);
		await writer.WriteAsync(i, NpgsqlDbType.Integer);
	}
	await writer.CompleteAsync();
}

static async Task Batch(NpgsqlDataSource source, Func<Guid>? key)
{
	await using var batch = source.CreateBatch();
	for (var i = 0; i < rows; i++)
	{
		batch.BatchCommands.Add(key is null
			? new("INSERT INTO orders (n) VALUES ($1) RETURNING id") { Parameters = { new() { Value = i } } }
			: new("INSERT INTO orders (n, id) VALUES ($1, $2)") { Parameters = { new() { Value = i }, new() { Value = key() } } });
	}
	await using var reader = await batch.ExecuteReaderAsync();
	do
	{
		while (await reader.ReadAsync())
			reader.GetGuid(0);
	} while (await reader.NextResultAsync());
}

static async Task Each(NpgsqlDataSource source, Func<Guid>? key)
{
	await using var db = await source.OpenConnectionAsync();
	await using var transaction = await db.BeginTransactionAsync();
	for (var i = 0; i < rows; i++)
	{
		await using var command = key is null
			? new NpgsqlCommand("INSERT INTO orders (n) VALUES ($1) RETURNING id", db) { Parameters = { new() { Value = i } } }
			: new NpgsqlCommand("INSERT INTO orders (n, id) VALUES ($1, $2)", db)
				{ Parameters = { new() { Value = i }, new() { Value = key() } } };
		await command.ExecuteScalarAsync();
	}
	await transaction.CommitAsync();
}

sealed class Row
{
	public Guid Id { get; set; }
	public int N { get; set; }
}

// EF Core makes the key, as it does by default.
class Context(NpgsqlDataSource source) : DbContext
{
	protected override void OnConfiguring(DbContextOptionsBuilder options) => options.UseNpgsql(source);

	protected override void OnModelCreating(ModelBuilder model)
	{
		model.Entity<Row>().ToTable("orders").Property(row => row.Id).HasColumnName("id");
		model.Entity<Row>().Property(row => row.N).HasColumnName("n");
	}
}

class ServedContext(NpgsqlDataSource source) : Context(source)
{
	protected override void OnModelCreating(ModelBuilder model)
	{
		base.OnModelCreating(model);
		model.Entity<Row>().Property(row => row.Id).HasDefaultValueSql("comb_generate()");
	}
}

sealed class AsAddedContext(NpgsqlDataSource source) : ServedContext(source)
{
	protected override void OnModelCreating(ModelBuilder model)
	{
		base.OnModelCreating(model);
		model.Entity<Row>().Property(row => row.Id).HasValueGenerator<AsAdded>();
	}
}

// Passes a connection on, and counts how often the client speaks after the server has.
sealed class Proxy : IDisposable
{
	public readonly int Port;
	public int Trips;
	readonly Socket listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
	readonly UnixDomainSocketEndPoint server;

	public Proxy(string directory, int port)
	{
		Port = port + 1;
		server = new UnixDomainSocketEndPoint($"{directory}/.s.PGSQL.{port}");
		listener.Bind(new UnixDomainSocketEndPoint($"{directory}/.s.PGSQL.{Port}"));
		listener.Listen();
		_ = Accept();
	}

	public void Dispose() => listener.Dispose();

	async Task Accept()
	{
		while (true)
		{
			var client = await listener.AcceptAsync();
			var upstream = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
			await upstream.ConnectAsync(server);
			var spoken = new StrongBox<bool>(true);
			_ = Pump(client, upstream, () =>
			{
				if (spoken.Value)
					Interlocked.Increment(ref Trips);
				spoken.Value = false;
			});
			_ = Pump(upstream, client, () => spoken.Value = true);
		}
	}

	static async Task Pump(Socket from, Socket to, Action seen)
	{
		var buffer = new byte[1 << 16];
		try
		{
			for (int size; (size = await from.ReceiveAsync(buffer)) > 0;)
			{
				seen();
				await to.SendAsync(buffer.AsMemory(0, size));
			}
			to.Shutdown(SocketShutdown.Send);
		}
		catch (SocketException)
		{
			// The other side is gone.
		}
	}
}
