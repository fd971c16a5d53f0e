// System.Data.SqlTypes.SqlGuid, SQL Server's order in .NET, and the bytes of Guid

using System.Data.SqlTypes;

Tap.Versions(typeof(Npgsql.NpgsqlConnection));
using var oracle = new Oracle();
const int pairs = 1_000_000;

// The bytes of ToByteArray(), most significant first in SQL Server's order
int[] order = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
byte[] edges = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff];

Guid Any()
{
	Span<byte> bytes = stackalloc byte[16];
	oracle.Random.NextBytes(bytes);
	return new Guid(bytes);
}

// Every fourth pair is random.  The others share bytes up to any of them, and differ there
// by values at the ends of signed and unsigned bytes; some are equal.
(Guid, Guid) Pair(int i)
{
	var left = Any().ToByteArray();
	if (i % 4 == 0)
		return (new Guid(left), Any());
	var right = Any().ToByteArray();
	var shared = oracle.Random.Next(17);
	foreach (var position in order.Take(shared))
		right[position] = left[position];
	if (shared < 16 && i % 4 == 1)
	{
		left[order[shared]] = edges[oracle.Random.Next(edges.Length)];
		right[order[shared]] = edges[oracle.Random.Next(edges.Length)];
	}
	return (new Guid(left), new Guid(right));
}

var samples = Enumerable.Range(0, pairs).Select(Pair).Select(pair =>
	(pair.Item1, pair.Item2, Math.Sign(new SqlGuid(pair.Item1).CompareTo(new SqlGuid(pair.Item2))))).ToList();
oracle.LoadPairs(samples);
Tap.Ok(samples.Count(sample => sample.Item3 == 0) > 1000 && samples.Count(sample => sample.Item3 < 0) > pairs / 3,
	"the pairs are smaller, equal and larger");
Tap.Ok(oracle.Value<long>("SELECT count(*) FROM pair") == pairs &&
	oracle.Value<long>("SELECT count(*) FROM pair WHERE sign(comb_mssql_cmp(a, b)) <> n") == 0,
	$"comb_mssql_cmp() is SqlGuid.CompareTo() ({pairs:N0})");
Tap.Ok(oracle.Value<long>(@"SELECT count(*) FROM pair WHERE (a #<# b) <> (n < 0) OR (a #<=# b) <> (n <= 0)
	OR (a #># b) <> (n > 0) OR (a #>=# b) <> (n >= 0)") == 0, "the operators say the same");
Tap.Ok(oracle.Value<long>("SELECT count(*) FROM pair WHERE sign(comb_mssql_cmp(b, a)) <> n") > pairs / 2,
	"another order is seen");

foreach (var (name, values) in new (string, Func<int, Guid>)[]
{
	("random values", _ => Any()),
	("values of one prefix", i => Pair(i * 4 + 2) is var (left, right) && i % 2 == 0 ? left : right),
})
{
	var sorted = Enumerable.Range(0, pairs).Select(i => new SqlGuid(values(i))).ToArray();
	Array.Sort(sorted);
	oracle.LoadPairs(sorted.Select((id, i) => (id.Value, id.Value, i)));
	Tap.Ok(oracle.Value<long>(@"SELECT count(*) FROM
		(SELECT n, row_number() OVER (ORDER BY a USING #<#) - 1 AS place FROM pair) sorted WHERE n <> place") == 0,
		$"a sort by comb_mssql_ops is Array.Sort of SqlGuids: {name} ({pairs:N0})");
}

// The bytes of ToByteArray(), and .NET's order of Guid
oracle.LoadPairs(Enumerable.Range(0, pairs).Select(_ => Any()).Select(id => (id, new Guid(id.ToByteArray(), bigEndian: true), 0)));
Tap.Ok(oracle.Value<long>("SELECT count(*) FROM pair WHERE comb_guid_swap(a) <> b OR comb_guid_swap(b) <> a") == 0,
	$"comb_guid_swap() is Guid.ToByteArray() ({pairs:N0})");
oracle.LoadPairs(samples.Select(sample => (sample.Item1, sample.Item2, Math.Sign(sample.Item1.CompareTo(sample.Item2)))));
Tap.Ok(oracle.Value<long>("SELECT count(*) FROM pair WHERE (a < b) <> (n < 0) OR (a > b) <> (n > 0)") == 0,
	$"uuid's own order is Guid.CompareTo() ({pairs:N0})");

return Tap.Done();
