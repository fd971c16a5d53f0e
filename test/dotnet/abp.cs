// ABP's SequentialGuidGenerator, which has Jeremy Todd's code

#:package Volo.Abp.Guids@10.0.0

using Microsoft.Extensions.Options;
using Volo.Abp.Guids;

Tap.Versions(typeof(SequentialGuidGenerator));
using var oracle = new Oracle();
var options = new AbpSequentialGuidGeneratorOptions();
var generator = new SequentialGuidGenerator(Options.Create(options));
oracle.Todd(
	("sequential_string", () => generator.Create(SequentialGuidType.SequentialAsString)),
	("sequential_binary", () => generator.Create(SequentialGuidType.SequentialAsBinary)),
	("sequential_end", () => generator.Create(SequentialGuidType.SequentialAtEnd)));

// For SQL Server, if the application does not choose
oracle.Load([.. Enumerable.Range(0, Oracle.Keys).Select(_ => (DateTime.UtcNow, generator.Create()))
	.Select(made => new Sample(made.Item2, made.UtcNow, made.Item2))]);
Tap.Ok(options.GetDefaultSequentialGuidType() == SequentialGuidType.SequentialAtEnd, "the default is SequentialAtEnd");
oracle.All("Create() makes sequential_end",
	"EXISTS (SELECT FROM comb_inspect(id) i WHERE i.layout = 'sequential_end') AND " +
	"comb_timestamp(id, 'sequential_end') - at BETWEEN interval '-1 ms' AND interval '1 s'");

return Tap.Done();
