// Marten's CombGuidIdGeneration, which is in JasperFx

#:package JasperFx@2.53.0

#pragma warning disable CS0618 // JasperFx points to Guid.CreateVersion7() for new code.

using JasperFx.Core;

Tap.Versions(typeof(CombGuidIdGeneration));
using var oracle = new Oracle();

var start = DateTime.UtcNow.AddMilliseconds(-1);
oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ => CombGuidIdGeneration.NewGuid())
	.Select(key => new Sample(key, start, key, CombGuidIdGeneration.GetTimestamp(key).UtcDateTime))]);
oracle.All("comb_timestamp() is GetTimestamp()", "comb_timestamp(id, 'rtcomb_postgresql') = read");
oracle.All("the time is between start and end",
	$"comb_timestamp(id, 'rtcomb_postgresql') BETWEEN at AND {Oracle.Literal(DateTime.UtcNow)}");
oracle.All("comb_inspect() names rtcomb_postgresql",
	"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = 'rtcomb_postgresql')");
oracle.All("RT.Comb's keys and Marten's are the same: version 4 is kept", "substr(id::text, 15, 1) = '4' AND comb_timestamp(id) IS NULL");

var until = new DateTime(9999, 12, 31, 23, 59, 59, DateTimeKind.Utc).AddMicroseconds(999_999);
var times = oracle.Times(DateTime.UnixEpoch, until);
oracle.Load([.. times.Select(time =>
{
	var id = Guid.NewGuid();
	return new Sample(id, time, CombGuidIdGeneration.Create(id, time), time);
})]);
oracle.All("comb_stamp() is Create(base, time)", "comb_stamp(base, at, 'rtcomb_postgresql') = id");
oracle.All("comb_timestamp() reads any time", "comb_timestamp(id, 'rtcomb_postgresql') = date_trunc('milliseconds', at)");
oracle.Twin("CombGuidIdGeneration", "rtcomb_postgresql", "1 ms", until);
oracle.All("to uuidv7 and back",
	"comb_convert(comb_convert(id, 'rtcomb_postgresql', 'uuidv7'), 'uuidv7', 'rtcomb_postgresql') = id");
Tap.Ok(oracle.Ids("comb_at(at, 'rtcomb_postgresql')").Zip(oracle.Ids("id")).All(pair =>
	CombGuidIdGeneration.GetTimestamp(pair.First) == CombGuidIdGeneration.GetTimestamp(pair.Second)), "GetTimestamp() reads comb_at()");

return Tap.Done();
