// A sample of keys on the server, and comparisons over all of it

using Npgsql;
using NpgsqlTypes;

// A key that an original made.  "At" is the time it was given, or one from its bracket
// of the clock; "Read" is what the original reads back.
readonly record struct Sample(Guid Base, DateTime At, Guid Key, DateTime? Read = null);

sealed class Oracle : IDisposable
{
	public const int Keys = 100_000;

	public readonly Random Random = new(20_261_120);
	readonly NpgsqlConnection db;
	long rows;

	static Oracle()
	{
		// The first and the last day of DateTime are times like others.
		AppContext.SetSwitch("Npgsql.DisableDateTimeInfinityConversions", true);
	}

	public Oracle()
	{
		db = new NpgsqlConnection(Tap.Server);
		db.Open();
		Run("CREATE EXTENSION pg_comb");
		Run("CREATE TEMP TABLE sample (n int, base uuid, at timestamptz, id uuid, read timestamptz)");
	}

	public void Dispose() => db.Dispose();

	public void Run(string sql)
	{
		using var command = new NpgsqlCommand(sql, db);
		command.ExecuteNonQuery();
	}

	public T Value<T>(string sql)
	{
		using var command = new NpgsqlCommand(sql, db);
		return (T)command.ExecuteScalar()!;
	}

	// The SQLSTATE of an error, or null
	public string? Error(string sql)
	{
		try
		{
			Run(sql);
			return null;
		}
		catch (PostgresException e)
		{
			return e.SqlState;
		}
	}

	// Replaces the sample.
	public void Load(IReadOnlyList<Sample> samples)
	{
		Run("TRUNCATE sample");
		using (var copy = db.BeginBinaryImport("COPY sample FROM STDIN (FORMAT binary)"))
		{
			for (var i = 0; i < samples.Count; i++)
			{
				copy.StartRow();
				copy.Write(i, NpgsqlDbType.Integer);
				copy.Write(samples[i].Base, NpgsqlDbType.Uuid);
				copy.Write(Utc(samples[i].At), NpgsqlDbType.TimestampTz);
				copy.Write(samples[i].Key, NpgsqlDbType.Uuid);
				if (samples[i].Read is { } read)
					copy.Write(Utc(read), NpgsqlDbType.TimestampTz);
				else
					copy.WriteNull();
			}
			copy.Complete();
		}
		rows = samples.Count;
		Run("ANALYZE sample");
	}

	// Originals of SQL Server's datetime have times without a zone, and read them so.
	static DateTime Utc(DateTime time) => DateTime.SpecifyKind(time, DateTimeKind.Utc);

	// The condition holds for each row of the sample.
	public void All(string name, string condition)
	{
		var wrong = new List<string>();
		var passed = Value<long>("SELECT count(*) FROM sample") == rows && rows > 0;
		var count = Value<long>($"SELECT count(*) FROM sample WHERE ({condition}) IS NOT TRUE");
		if (count > 0)
		{
			using var command = new NpgsqlCommand($"SELECT s::text FROM sample s WHERE ({condition}) IS NOT TRUE LIMIT 3", db);
			using var reader = command.ExecuteReader();
			while (reader.Read())
				wrong.Add(reader.GetString(0));
		}
		Tap.Ok(passed && count == 0, $"{name} ({rows:N0})", [$"{count} of {rows} rows differ: {condition}", .. wrong]);
	}

	// A time that is one unit later differs for each row: the comparison above can fail.
	public void Twin(string name, string layout, string unit, DateTime until) =>
		All($"{name}: a time that is a unit later gives other keys",
			$"CASE WHEN at + interval '{unit}' <= {Literal(until)} " +
			$"THEN comb_stamp(base, at + interval '{unit}', '{layout}') <> id ELSE true END");

	// comb_stamp() leaves a key alone that has the time already.  Another time comes first, so
	// that each bit of the time is written.
	public void Restamped(string name, string layout) =>
		All($"{name}comb_stamp() writes the key's own time over another",
			$"comb_stamp(comb_stamp(id, timestamptz '2001-02-03 04:05:06.789012+00', '{layout}'), at, '{layout}') = id " +
			$"AND comb_stamp(id, timestamptz '2001-02-03 04:05:06.789012+00', '{layout}') <> id");

	// The last microsecond before 1970 is an error, in the original and here.
	public void BeforeEpoch(string name, string layout, Func<DateTime, Guid> make)
	{
		var time = DateTime.UnixEpoch.AddMicroseconds(-1);
		Guid? made = null;
		try
		{
			made = make(time);
		}
		catch (ArgumentException)
		{
			// as it should
		}
		Tap.Ok(made is null && Error($"SELECT comb_stamp('{Guid.Empty}', {Literal(time)}, '{layout}')") == "22008" &&
			Error($"SELECT comb_at({Literal(time)}, '{layout}')") == "22008", $"{name}a time before 1970 is an error in both");
	}

	public static string Literal(DateTime time) => $"timestamptz '{time:yyyy-MM-dd HH:mm:ss.ffffff}+00'";

	// Jeremy Todd's code, which some packages have.  It takes no time and reads none: "At" and
	// "Read" are the clock before and after.
	public void Todd(params (string Layout, Func<Guid> Make)[] kinds)
	{
		foreach (var (layout, make) in kinds)
		{
			var made = new List<Sample>();
			for (var i = 0; i < Keys; i++)
			{
				var before = DateTime.UtcNow;
				var key = make();
				made.Add(new(key, before, key, DateTime.UtcNow));
			}
			Load(made);
			All($"{layout}: comb_timestamp() is the clock's millisecond",
				$"comb_timestamp(id, '{layout}') BETWEEN date_trunc('milliseconds', at) AND date_trunc('milliseconds', read)");
			All($"{layout}: comb_inspect() names it", $"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = '{layout}')");
			Run($"UPDATE sample SET at = comb_timestamp(id, '{layout}')");
			Restamped($"{layout}: ", layout);
			All($"{layout}: a time that is a unit later gives other keys",
				$"comb_stamp(id, at + interval '1 ms', '{layout}') <> id");
			foreach (var (target, _) in kinds)
			{
				All($"{layout} to {target} and back", $"comb_convert(comb_convert(id, '{layout}', '{target}'), '{target}', '{layout}') = id " +
					$"AND comb_timestamp(comb_convert(id, '{layout}', '{target}'), '{target}') = at");
			}
		}
	}

	// How many rows meet the condition
	public long Count(string condition) => Value<long>($"SELECT count(*) FROM sample WHERE {condition}");

	// An expression of uuid for each row, in the order of the sample
	public Guid[] Ids(string expression)
	{
		var ids = new List<Guid>();
		using var command = new NpgsqlCommand($"SELECT {expression} FROM sample ORDER BY n", db);
		using var reader = command.ExecuteReader();
		while (reader.Read())
			ids.Add(reader.GetGuid(0));
		return [.. ids];
	}

	// Replaces the sample by pairs or sorted values of uuid, with a number for each.
	public void LoadPairs(IEnumerable<(Guid Left, Guid Right, int Number)> pairs)
	{
		Run("DROP TABLE IF EXISTS pair; CREATE TEMP TABLE pair (a uuid, b uuid, n int)");
		using var copy = db.BeginBinaryImport("COPY pair FROM STDIN (FORMAT binary)");
		foreach (var (left, right, number) in pairs)
		{
			copy.StartRow();
			copy.Write(left, NpgsqlDbType.Uuid);
			copy.Write(right, NpgsqlDbType.Uuid);
			copy.Write(number, NpgsqlDbType.Integer);
		}
		copy.Complete();
	}

	// A time of whole microseconds, which is what a timestamptz can have
	public DateTime Time(DateTime since, DateTime until) =>
		new(since.Ticks + Random.NextInt64((until.Ticks - since.Ticks) / 10) * 10, DateTimeKind.Utc);

	// Random times of a range, with its ends, midnights, leap days and last milliseconds
	public List<DateTime> Times(DateTime since, DateTime until)
	{
		var edges = new List<DateTime> { since, since.AddMicroseconds(1), until, until.AddMicroseconds(-1) };
		foreach (var year in new[] { 1, 2, 1753, 1899, 1900, 1901, 1969, 1970, 1999, 2000, 2001, 2024, 2026, 2078, 2079, 2080,
			2100, 2400, 3000, 8919, 8920, 9999 })
		{
			foreach (var day in new[] { new DateTime(year, 1, 1), new DateTime(year, 2, 28), new DateTime(year, 3, 1),
				new DateTime(year, 6, 6), new DateTime(year, 12, 31) })
			{
				edges.Add(day);
				edges.Add(day.AddMicroseconds(1));
				edges.Add(day.Add(TimeSpan.FromDays(1) - TimeSpan.FromMicroseconds(1)));
				edges.Add(day.Add(TimeSpan.FromDays(1) - TimeSpan.FromMilliseconds(1)));
				edges.Add(day.AddMilliseconds(3).AddMicroseconds(333));
			}
			if (DateTime.IsLeapYear(year))
				edges.Add(new DateTime(year, 2, 29, 23, 59, 59, 999));
		}
		var times = edges.Where(time => time >= since && time <= until)
			.Select(time => DateTime.SpecifyKind(time, DateTimeKind.Utc)).ToList();
		while (times.Count < Keys)
			times.Add(Time(since, until));
		return times;
	}
}
