// What the programs for .NET share: TAP, the server, and the versions of packages

using System.Reflection;

static class Tap
{
	static int count, failed;

	// Prints one test.  The details are comments of a test that fails.
	public static void Ok(bool passed, string name, params string[] details)
	{
		Console.WriteLine($"{(passed ? "" : "not ")}ok {++count} - {name}");
		if (passed)
			return;
		failed++;
		foreach (var line in details.SelectMany(detail => detail.Split('\n')))
			Console.WriteLine("# " + line);
	}

	public static async Task Test(string name, Func<Task<bool>> check)
	{
		try
		{
			Ok(await check(), name);
		}
		catch (Exception e)
		{
			Ok(false, name, e.ToString());
		}
	}

	// Ends the program
	public static int Done()
	{
		Console.WriteLine($"1..{count}");
		return failed == 0 ? 0 : 1;
	}

	// The runner copies the versions from this line into its table.  Each type is one of
	// a package.
	public static void Versions(params Type[] types)
	{
		Console.WriteLine("# versions: " + string.Join(", ", types.Select(type =>
			$"{type.Assembly.GetName().Name} {Version(type.Assembly)}")));
	}

	static string Version(Assembly assembly) =>
		assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion.Split('+')[0]
		?? assembly.GetName().Version!.ToString();

	// Npgsql knows libpq's variables for the password only.  A loaded machine may be slow.
	public static string Server => "Timeout=120;Command Timeout=600;" +
		string.Join(";", new[] { ("Host", "PGHOST"), ("Port", "PGPORT"), ("Username", "PGUSER"), ("Database", "PGDATABASE") }
			.Select(pair => $"{pair.Item1}={Environment.GetEnvironmentVariable(pair.Item2)}"));
}
