// Zaabee.SequentialGuid, which has Jeremy Todd's code

#:package Zaabee.SequentialGuid@2021.1.0

using Zaabee.SequentialGuid;

Tap.Versions(typeof(SequentialGuidHelper));
using var oracle = new Oracle();
oracle.Todd(
	("sequential_string", () => SequentialGuidHelper.GenerateComb(SequentialGuidType.SequentialAsString)),
	("sequential_binary", () => SequentialGuidHelper.GenerateComb(SequentialGuidType.SequentialAsBinary)),
	("sequential_end", () => SequentialGuidHelper.GenerateComb(SequentialGuidType.SequentialAtEnd)));

return Tap.Done();
