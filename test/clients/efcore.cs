// EF Core, with Npgsql's provider

#:package Npgsql.EntityFrameworkCore.PostgreSQL@10.0.0
#:package Microsoft.EntityFrameworkCore.Relational@10.0.11
#:package Microsoft.CodeAnalysis.CSharp.Workspaces@5.0.0
#:package Humanizer.Core@2.14.1

#pragma warning disable EF1001 // the services that "dotnet ef" uses

using System.Reflection;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.Design;
using Microsoft.EntityFrameworkCore.Infrastructure;
using Microsoft.EntityFrameworkCore.Migrations.Design;
using Microsoft.EntityFrameworkCore.Scaffolding;
using Microsoft.Extensions.DependencyInjection;
using Npgsql.EntityFrameworkCore.PostgreSQL.Design.Internal;
using NpgsqlTypes;

Tap.Versions(typeof(DbContext), typeof(NpgsqlDbContextOptionsBuilderExtensions));

// "dotnet ef migrations add", "dotnet ef database update", and both again
string code = "";
await Tap.Test("the migration makes the extension and the default", async () =>
{
	await using var shop = new Shop();
	var migration = Design(shop).GetRequiredService<IMigrationsScaffolder>().ScaffoldMigration("Initial", "Orders");
	code = migration.MigrationCode + migration.MetadataCode + migration.SnapshotCode;
	return migration.MigrationCode.Contains("defaultValueSql: \"comb_generate()\"") &&
		migration.MigrationCode.Contains("Annotation(\"Npgsql:PostgresExtension:pg_comb\"") &&
		!migration.MigrationCode.Contains("comb_internal");
});
Shop.Migrations = Compile(code);

await Tap.Test("the migration runs", async () =>
{
	await using var shop = new Shop();
	await shop.Database.MigrateAsync();
	return (await shop.Database.GetAppliedMigrationsAsync()).Count() == 1 && !(await shop.Database.GetPendingMigrationsAsync()).Any();
});

await Tap.Test("run again, it does nothing", async () =>
{
	await using var shop = new Shop();
	await shop.Database.MigrateAsync();
	return !shop.Database.HasPendingModelChanges();
});

await Tap.Test("a second migration is empty", async () =>
{
	await using var shop = new Shop();
	var second = Design(shop).GetRequiredService<IMigrationsScaffolder>().ScaffoldMigration("Second", "Orders").MigrationCode;
	return second.Contains("class Second") && !second.Contains("migrationBuilder.");
});

await new Orders().Check();

await Tap.Test("the ids of SaveChanges() are in the order of insertion", async () =>
{
	await using var shop = new Shop();
	await using var transaction = await shop.Database.BeginTransactionAsync();
	var orders = Enumerable.Range(0, 1000).Select(i => new Order { Item = $"item {i:0000}" }).ToList();
	shop.AddRange(orders);
	await shop.SaveChangesAsync();
	var items = await shop.Orders.Where(order => order.Item.StartsWith("item ")).OrderBy(order => order.Id)
		.Select(order => order.Item).ToListAsync();
	return Client.InOrder(orders.Select(order => order.Id)) && items.SequenceEqual(orders.Select(order => order.Item));
});

await Tap.Test("without AsAdded they are in a random order", async () =>
{
	await using var shop = new Shop();
	shop.AddRange(Enumerable.Range(0, 1000).Select(n => new Parcel { N = n }));
	await shop.SaveChangesAsync();
	var rows = await shop.Parcels.OrderBy(parcel => parcel.Id).Select(parcel => parcel.N).ToListAsync();
	return rows.Count == 1000 && !rows.SequenceEqual(rows.Order());
});

await Tap.Test("without the default the keys come from the client, as version 7", async () =>
{
	await using var shop = new Shop();
	var basket = new Basket();
	shop.Add(basket);
	return Client.IsKey(basket.Id) && Math.Abs((await shop.Database.SqlQuery<DateTime>(
		$"SELECT comb_timestamp({basket.Id}) AS \"Value\"").SingleAsync() - DateTime.UtcNow).TotalMinutes) < 1;
});

await Tap.Test("the functions can be used in queries", async () =>
{
	await using var shop = new Shop();
	var now = DateTime.UtcNow;
	var rows = await shop.Orders.OrderBy(order => order.Id)
		.Where(order => order.Id >= Comb.Min(now.AddHours(-1)) && order.Id <= Comb.Max(now.AddHours(1)))
		.Select(order => new { order.Item, Created = Comb.Timestamp(order.Id) }).ToListAsync();
	return rows.Count == 6 && rows.All(row => row.Created > now.AddMinutes(-1)) &&
		await shop.Orders.CountAsync(order => Comb.Timestamp(order.Id)!.Value.Year == now.Year) == 6;
});

await Tap.Test("ordered keys below comb_settled()", async () =>
{
	await using var shop = new Shop();
	shop.AddRange(Enumerable.Range(0, 10).Select(i => new Message { Body = i.ToString() }));
	await shop.SaveChangesAsync();
	var last = Guid.Empty;
	var batch = await shop.Messages.Where(message => message.Id > last && message.Id < Comb.Settled())
		.OrderBy(message => message.Id).Take(1000).ToListAsync();
	return batch.Select(message => message.Body).SequenceEqual(Enumerable.Range(0, 10).Select(i => i.ToString()));
});

// "dotnet ef dbcontext scaffold", up to the model: printing it needs one more package.
await using (var shop = new Shop())
{
	var design = Design(shop);
	var factory = design.GetRequiredService<IDatabaseModelFactory>();
	await Tap.Test("the database can be scaffolded", () =>
	{
		var database = factory.Create(Tap.Server, new DatabaseModelFactoryOptions(schemas: ["public"]));
		var model = design.GetRequiredService<IScaffoldingModelFactory>().Create(database, new ModelReverseEngineerOptions());
		var keys = model.GetEntityTypes().ToDictionary(entity => entity.GetTableName()!,
			entity => entity.FindPrimaryKey()?.Properties[0].GetDefaultValueSql());
		return Task.FromResult(model.GetPostgresExtensions().Any(extension => extension.Name == "pg_comb") &&
			keys["orders"] == "comb_generate()" && keys["Messages"] == "comb_generate_ordered()" &&
			database.Tables.All(table => table.Schema == "public") && database.Sequences.Count == 0);
	});
	await Tap.Test("without --schema the provider takes our sequences for yours", () =>
		Task.FromResult(factory.Create(Tap.Server, new DatabaseModelFactoryOptions()).Sequences.All(sequence => sequence.Schema == "comb_internal")));
}

return Tap.Done();

static IServiceProvider Design(DbContext context)
{
	var services = new ServiceCollection().AddEntityFrameworkDesignTimeServices().AddDbContextDesignTimeServices(context);
	new NpgsqlDesignTimeServices().ConfigureDesignTimeServices(services);
	return services.BuildServiceProvider();
}

static Assembly Compile(string code)
{
	var parts = code.Split("// <auto-generated />");
	var references = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator)
		.Select(file => MetadataReference.CreateFromFile(file));
	var compilation = CSharpCompilation.Create("migrations", parts.Select(part => CSharpSyntaxTree.ParseText(part)), references,
		new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary));
	using var stream = new MemoryStream();
	var result = compilation.Emit(stream);
	if (!result.Success)
		throw new InvalidOperationException(string.Join("\n", result.Diagnostics));
	return Assembly.Load(stream.ToArray());
}

public class Basket
{
	public Guid Id { get; set; }
}

// As Order, but without AsAdded
public class Parcel
{
	public Guid Id { get; set; }
	public int N { get; set; }
}

public class Message
{
	public Guid Id { get; set; }
	public string Body { get; set; } = "";
}

// The functions of the server, for queries only
public static class Comb
{
	public static bool Between(Guid id, DateTime? since, DateTime? until) => throw new NotSupportedException();
	public static bool Created(Guid id, NpgsqlRange<DateTime> during) => throw new NotSupportedException();
	public static DateTime? Timestamp(Guid id) => throw new NotSupportedException();
	public static Guid Min(DateTime at) => throw new NotSupportedException();
	public static Guid Max(DateTime at) => throw new NotSupportedException();
	public static Guid Settled() => throw new NotSupportedException();
	public static Guid Generate(string layout) => throw new NotSupportedException();
}

public class Shop : DbContext
{
	public static Assembly? Migrations;

	public DbSet<Order> Orders => Set<Order>();
	public DbSet<Basket> Baskets => Set<Basket>();
	public DbSet<Message> Messages => Set<Message>();
	public DbSet<Parcel> Parcels => Set<Parcel>();

	protected override void OnConfiguring(DbContextOptionsBuilder options) =>
		options.UseNpgsql(Tap.Server, npgsql => npgsql.MigrationsAssembly(Migrations ?? typeof(Shop).Assembly));

	protected override void OnModelCreating(ModelBuilder model)
	{
		model.HasPostgresExtension("pg_comb");
		model.HasPostgresExtension("pg_comb_ordered");
		model.Entity<Order>(order =>
		{
			order.ToTable("orders");
			order.Property(o => o.Id).HasColumnName("id").HasDefaultValueSql("comb_generate()").ValueGeneratedOnAdd()
				.HasValueGenerator<AsAdded>();
			order.Property(o => o.Number).HasColumnName("number").HasDefaultValueSql("comb_snowflake()");
			order.Property(o => o.Item).HasColumnName("item");
			order.HasIndex(o => o.Item).IsUnique();
			order.Property(o => o.Amount).HasColumnName("amount");
		});
		model.Entity<Message>().Property(message => message.Id).HasDefaultValueSql("comb_generate_ordered()")
			.HasValueGenerator<AsAdded>();
		model.Entity<Parcel>().Property(parcel => parcel.Id).HasDefaultValueSql("comb_generate()");
		foreach (var name in new[] { nameof(Comb.Between), nameof(Comb.Created), nameof(Comb.Timestamp), nameof(Comb.Min),
			nameof(Comb.Max), nameof(Comb.Settled), nameof(Comb.Generate) })
		{
			model.HasDbFunction(typeof(Comb).GetMethod(name)!).HasName("comb_" + name.ToLowerInvariant());
		}
	}
}

sealed class Orders : Client
{
	static async Task<List<Order>> Query(Func<Shop, IQueryable<Order>> query)
	{
		await using var shop = new Shop();
		return await query(shop).AsNoTracking().ToListAsync();
	}

	public override async Task<Order> Insert(string item) => (await Bulk([item]))[0];

	public override async Task<List<Order>> Bulk(string[] items)
	{
		await using var shop = new Shop();
		var orders = items.Select(item => new Order { Item = item }).ToList();
		shop.AddRange(orders);
		await shop.SaveChangesAsync();
		return orders;
	}

	public override async Task<Order> Upsert(string item, int amount)
	{
		await using var shop = new Shop();
		return (await shop.Orders.FromSql($"""
			INSERT INTO orders (item, amount) VALUES ({item}, {amount})
			ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *
			""").ToListAsync())[0];
	}

	public override async Task<DateTime> Time(Guid id)
	{
		await using var shop = new Shop();
		return (await shop.Orders.Where(order => order.Id == id).Select(order => Comb.Timestamp(order.Id)).SingleAsync())!.Value;
	}

	public override Task<List<Order>> Between(DateTime since, DateTime until) =>
		Query(shop => shop.Orders.Where(order => Comb.Between(order.Id, since, until)).OrderBy(order => order.Id));

	public override Task<List<Order>> During(DateTime since, DateTime until)
	{
		var period = new NpgsqlRange<DateTime>(since, true, until, false);
		return Query(shop => shop.Orders.Where(order => Comb.Created(order.Id, period)).OrderBy(order => order.Id));
	}

	public override Task<List<Order>> Page(Guid after, int size) =>
		Query(shop => shop.Orders.Where(order => order.Id > after).OrderBy(order => order.Id).Take(size));

	public override async Task<Order?> Find(long number) =>
		(await Query(shop => shop.Orders.Where(order => order.Number == number))).SingleOrDefault();

	public override async Task Fail()
	{
		await using var shop = new Shop();
		await shop.Orders.Select(order => Comb.Generate("sequential")).FirstAsync();
	}
}
