// NHibernate: keys of the server, and its own guid.comb

#:package NHibernate@5.7.0
#:package Npgsql@10.0.0

using System.Data;
using NHibernate;
using NHibernate.Cfg;
using NHibernate.Cfg.MappingSchema;
using NHibernate.Dialect;
using NHibernate.Dialect.Function;
using NHibernate.Driver;
using NHibernate.Linq;
using NHibernate.Mapping.ByCode;
using NHibernate.Mapping.ByCode.Conformist;
using NHibernate.Tool.hbm2ddl;

Tap.Versions(typeof(ISession));

var configuration = new Configuration().DataBaseIntegration(database =>
{
	database.ConnectionString = Tap.Server;
	database.Dialect<CombDialect>();
	database.Driver<NpgsqlDriver>();
	database.SchemaAction = SchemaAutoAction.Validate;
});
var mapper = new ModelMapper();
mapper.AddMapping<OrderMap>();
mapper.AddMapping<ItemMap>();
configuration.AddMapping(mapper.CompileMappingForAllExplicitlyAddedEntities());
new SchemaExport(configuration).Create(false, true);
await Tap.Test("the schema has the default, and is found valid", () =>
{
	new SchemaValidator(configuration).Validate();
	return Task.FromResult(true);
});
using var factory = configuration.BuildSessionFactory();
await new Orders(factory).Check();

await Tap.Test("rows of both generators, in one column", async () =>
{
	using (var session = factory.OpenSession())
	using (var transaction = session.BeginTransaction())
	{
		for (var i = 0; i < 100; i++)
		{
			await session.SaveAsync(new Item());
			await session.CreateSQLQuery("INSERT INTO item (id) VALUES (comb_generate('nhibernate'))").ExecuteUpdateAsync();
		}
		await transaction.CommitAsync();
	}
	using var reader = factory.OpenSession();
	var times = await reader.CreateSQLQuery(
		"SELECT comb_timestamp(id, 'nhibernate') AS created FROM item ORDER BY id USING #<#")
		.AddScalar("created", NHibernateUtil.UtcDateTime).ListAsync<DateTime>();
	return times.Count == 200 && times.SequenceEqual(times.Order()) && times.All(time => Math.Abs((DateTime.UtcNow - time).TotalMinutes) < 1);
});

return Tap.Done();

public class Item
{
	public virtual Guid Id { get; set; }
}

// guid.comb: NHibernate makes the key
sealed class ItemMap : ClassMapping<Item>
{
	public ItemMap()
	{
		Table("item");
		Id(item => item.Id, id => { id.Column("id"); id.Generator(Generators.GuidComb); });
	}
}

// The default makes the key, and NHibernate reads it back.
sealed class OrderMap : ClassMapping<Order>
{
	public OrderMap()
	{
		Table("orders");
		Id(order => order.Id, id =>
		{
			id.Column(column => { column.Name("id"); column.Default("comb_generate()"); });
			id.Generator(Generators.NativeGuid);
		});
		Property(order => order.Number, number =>
		{
			number.Column(column => { column.Name("number"); column.NotNullable(true); column.Default("comb_snowflake()"); });
			number.Generated(PropertyGeneration.Insert);
		});
		Property(order => order.Item, item => { item.NotNullable(true); item.Unique(true); });
		Property(order => order.Amount, amount => amount.NotNullable(true));
	}
}

// The native generator asks the dialect, and its query makes the key.
public class CombDialect : PostgreSQL83Dialect
{
	public CombDialect()
	{
		RegisterFunction("comb_during", new SQLFunctionTemplate(NHibernateUtil.Boolean, "comb_during(?1, ?2, ?3)"));
		RegisterFunction("comb_timestamp", new SQLFunctionTemplate(NHibernateUtil.UtcDateTime, "comb_timestamp(?1)"));
	}

	public override string SelectGUIDString => "select comb_generate()";
}

sealed class Orders(ISessionFactory factory) : Client
{
	async Task<List<Order>> Query(string hql, params (string Name, object Value)[] values)
	{
		using var session = factory.OpenSession();
		var query = session.CreateQuery(hql);
		foreach (var (name, value) in values)
			query.SetParameter(name, value);
		return [.. await query.ListAsync<Order>()];
	}

	public override async Task<Order> Insert(string item) => (await Bulk([item]))[0];

	public override async Task<List<Order>> Bulk(string[] items)
	{
		using var session = factory.OpenSession();
		using var transaction = session.BeginTransaction();
		var orders = items.Select(item => new Order { Item = item }).ToList();
		foreach (var order in orders)
			await session.SaveAsync(order);
		await transaction.CommitAsync();
		return orders;
	}

	public override async Task<Order> Upsert(string item, int amount)
	{
		using var session = factory.OpenSession();
		return (await session.CreateSQLQuery("""
			INSERT INTO orders (id, item, amount) VALUES (comb_generate(), :item, :amount)
			ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *
			""").AddEntity(typeof(Order)).SetParameter("item", item).SetParameter("amount", amount).ListAsync<Order>())[0];
	}

	public override async Task<DateTime> Time(Guid id)
	{
		using var session = factory.OpenSession();
		return await session.CreateQuery("select comb_timestamp(o.Id) from Order o where o.Id = :id")
			.SetParameter("id", id).UniqueResultAsync<DateTime>();
	}

	public override Task<List<Order>> Between(DateTime since, DateTime until) =>
		Query("from Order o where comb_during(o.Id, :since, :until) = true order by o.Id", ("since", since), ("until", until));

	public override async Task<List<Order>> During(DateTime since, DateTime until)
	{
		using var session = factory.OpenSession();
		return [.. await session.CreateSQLQuery(
			"SELECT * FROM orders WHERE id <@ tstzrange(:since, :until) ORDER BY id").AddEntity(typeof(Order))
			.SetParameter("since", since, NHibernateUtil.UtcDateTime).SetParameter("until", until, NHibernateUtil.UtcDateTime).ListAsync<Order>()];
	}

	public override async Task<List<Order>> Page(Guid after, int size)
	{
		using var session = factory.OpenSession();
		return [.. await session.CreateQuery("from Order o where o.Id > :after order by o.Id")
			.SetParameter("after", after).SetMaxResults(size).ListAsync<Order>()];
	}

	public override async Task<Order?> Find(long number) =>
		(await Query("from Order o where o.Number = :number", ("number", number))).SingleOrDefault();

	public override async Task Fail()
	{
		using var session = factory.OpenSession();
		await session.CreateSQLQuery("SELECT comb_generate('sequential')").UniqueResultAsync();
	}
}
