// For EF Core: keys of the server in the order in which rows were added

using System.Buffers.Binary;
using Microsoft.EntityFrameworkCore.ChangeTracking;
using Microsoft.EntityFrameworkCore.ValueGeneration;

// Until the server has made the keys EF Core has temporary ones, and inserts the rows in
// their order.  These rise as you add rows, where EF Core's own are random.
public class AsAdded : ValueGenerator<Guid>
{
	static long last;

	public override bool GeneratesTemporaryValues => true;

	public override Guid Next(EntityEntry entry)
	{
		var bytes = new byte[16];
		BinaryPrimitives.WriteInt64BigEndian(bytes, Interlocked.Increment(ref last));
		return new Guid(bytes, bigEndian: true);
	}
}
