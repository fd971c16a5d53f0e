// What the programs for .NET share: the checks
//
// A program makes the table orders (id, number, item, amount), as its client's users
// would, and has one method for each task.

using System.Text.RegularExpressions;

public class Order
{
	public virtual Guid Id { get; set; }
	public virtual long Number { get; set; }
	public virtual string Item { get; set; } = "";
	public virtual int Amount { get; set; } = 1;
}

abstract partial class Client
{
	public const string Table = """
		CREATE TABLE orders (
			id uuid PRIMARY KEY DEFAULT comb_generate(),
			number bigint NOT NULL DEFAULT comb_snowflake(),
			item text NOT NULL UNIQUE,
			amount int NOT NULL DEFAULT 1)
		""";

	public abstract Task<Order> Insert(string item);             // inserts a row, and returns it
	public abstract Task<List<Order>> Bulk(string[] items);      // inserts rows at once, and returns them in order
	public abstract Task<Order> Upsert(string item, int amount); // inserts or updates by item, and returns the row
	public abstract Task<DateTime> Time(Guid id);                // the time of the key
	public abstract Task<List<Order>> Between(DateTime since, DateTime until);  // the rows of a period
	public abstract Task<List<Order>> During(DateTime since, DateTime until);   // the same by the client's range
	public abstract Task<List<Order>> Page(Guid after, int size);               // the next rows by the key
	public abstract Task<Order?> Find(long number);              // the row of a Snowflake
	public abstract Task Fail();                                 // calls comb_generate('sequential')

	[GeneratedRegex("^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
	private static partial Regex Key { get; }

	public static bool IsKey(Guid id) => Key.IsMatch(id.ToString());

	public static bool InOrder(IEnumerable<Guid> ids)
	{
		var list = ids.ToList();
		return list.Zip(list.Skip(1)).All(pair => pair.First < pair.Second);
	}

	static readonly string[] Items = ["salt", "oil", "rice", "tea", "milk"];

	public async Task Check()
	{
		var all = Items.Prepend("bread");
		var first = new Order();
		List<Order> rows = [];

		await Tap.Test("an insert gives the id back", async () => IsKey((first = await Insert("bread")).Id));

		await Tap.Test("rows inserted at once have keys in order", async () =>
		{
			rows = [first, .. await Bulk(Items)];
			return rows.Count == 6 && rows.All(row => IsKey(row.Id)) && InOrder(rows.Select(row => row.Id));
		});

		await Tap.Test("an upsert keeps the id", async () =>
			await Upsert("bread", 7) is { Amount: 7 } row && row.Id == first.Id);

		await Tap.Test("the key has the time", async () =>
			await Time(first.Id) is { Kind: DateTimeKind.Utc } at && Math.Abs((DateTime.UtcNow - at).TotalMinutes) < 1);

		foreach (var (name, period) in new (string, Func<DateTime, DateTime, Task<List<Order>>>)[]
			{ ("two times", Between), ("a range", During) })
		{
			await Tap.Test($"a period by {name}", async () =>
			{
				var now = DateTime.UtcNow;
				var at = await Time(first.Id);
				return (await period(now.AddMinutes(-1), now.AddMinutes(1))).Select(row => row.Item).SequenceEqual(all) &&
					(await period(now.AddHours(-2), now.AddHours(-1))).Count == 0 &&
					(await period(at, at.AddMilliseconds(1))).Any(row => row.Item == "bread") &&
					(await period(now.AddHours(-1), at)).Count == 0;
			});
		}

		await Tap.Test("pages by the key", async () =>
		{
			List<string> seen = [];
			for (var after = Guid.Empty; await Page(after, 4) is { Count: > 0 and <= 4 } next; after = next[^1].Id)
				seen.AddRange(next.Select(row => row.Item));
			return seen.SequenceEqual(all);
		});

		await Tap.Test("a Snowflake keeps its digits", async () =>
		{
			foreach (var row in rows)
			{
				if (row.Number < 1L << 53 || (await Find(row.Number))?.Item != row.Item)
					return false;
			}
			return rows.Count == 6;
		});

		await Tap.Test("an error has its SQLSTATE and hint", async () =>
		{
			try
			{
				await Fail();
				return false;
			}
			catch (Exception e) when (e.GetBaseException() is Npgsql.PostgresException told)
			{
				return told.SqlState == "22023" && told.Hint!.StartsWith("Perhaps you meant the layout ");
			}
		});
	}
}
