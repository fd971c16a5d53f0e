// The runner of statements.sql for Java, and TAP
//
// A program is a subclass.  Its methods with the name of a statement are called in its place, and
// return rows: maps, records, or objects with public fields.

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public abstract class Client {
	public record Told(String sqlState, String hint) { }

	public interface Way { List<?> rows(String text, Object... values) throws Exception; }

	static int count, failed;
	Connection db;
	Object mapper = this;                                   // has more methods in place of statements
	final Map<String, Way> ways = new LinkedHashMap<>();  // forms of a period by two timestamps

	// libpq's variables, as test/run sets them
	static String database() { return System.getenv("PGDATABASE"); }
	static String user() { return System.getenv("PGUSER"); }
	// Each statement is prepared on the server at once.  Its plan must do for every period.
	static String url() {
		return "jdbc:postgresql:" + database() + "?user=" + user() + "&socketFactory=UnixSockets"
			+ "&prepareThreshold=-1&options=-c%20plan_cache_mode=force_generic_plan";
	}

	// The runner copies the versions from this line into its table.
	static void showVersions(String... versions) throws Exception {
		String pom = Files.readString(Path.of("pom.xml"));
		List<String> shown = new ArrayList<>();
		for (String version : versions) {
			Matcher pinned = Pattern.compile("<artifactId>" + version + "</artifactId><version>([^<]+)<").matcher(pom);
			shown.add(pinned.find() ? version + " " + pinned.group(1) : version);
		}
		System.out.println("# versions: " + String.join(", ", shown) + ", Java " + Runtime.version().feature());
	}

	static void test(String name, Callable<Boolean> check) {
		boolean passed = false;
		count++;
		try {
			passed = check.call();
		} catch (Throwable e) {
			for (Throwable cause = e; cause != null; cause = cause.getCause())
				System.out.println("# " + cause.toString().replace("\n", "\n# "));
		}
		failed += passed ? 0 : 1;
		System.out.println((passed ? "ok " : "not ok ") + count + " - " + name);
	}

	static void done() {
		System.out.println("1.." + count);
		System.exit(failed > 0 ? 1 : 0);
	}

	static List<Map<String, Object>> query(Connection db, String text, Object... values) throws SQLException {
		List<Map<String, Object>> rows = new ArrayList<>();
		try (PreparedStatement statement = db.prepareStatement(text)) {
			for (int i = 0; i < values.length; i++)
				statement.setObject(i + 1, values[i]);
			if (!statement.execute())
				return rows;
			ResultSet row = statement.getResultSet();
			ResultSetMetaData columns = row.getMetaData();
			while (row.next()) {
				rows.add(new HashMap<>());
				for (int i = 1; i <= columns.getColumnCount(); i++)
					rows.get(rows.size() - 1).put(columns.getColumnName(i), columns.getColumnTypeName(i).equals("timestamptz")
						? row.getObject(i, OffsetDateTime.class) : row.getObject(i));
			}
		}
		return rows;
	}

	List<?> run(String text, Object... values) throws Exception { return query(db, text, values); }

	String place(int n) { return "?"; }

	// JDBC sends a string as varchar, which is no uuid.
	List<?> text(String id) throws Exception {
		try (PreparedStatement statement = db.prepareStatement("SELECT item FROM orders WHERE id = ?")) {
			statement.setObject(1, id, Types.OTHER);
			ResultSet row = statement.executeQuery();
			row.next();
			return List.of(Map.of("item", row.getString(1)));
		}
	}

	// The server's error, which most clients wrap
	Told told(Throwable e) {
		while (!(e instanceof org.postgresql.util.PSQLException told))
			e = e.getCause();
		return new Told(told.getSQLState(), told.getServerErrorMessage().getHint());
	}

	private static Map<String, Object> columns(Object row) throws Exception {
		Map<String, Object> columns = new HashMap<>();
		if (row instanceof Map<?, ?> map)
			map.forEach((name, value) -> columns.put((String) name, value));
		else if (row.getClass().isRecord())
			for (RecordComponent part : row.getClass().getRecordComponents())
				columns.put(part.getName(), part.getAccessor().invoke(row));
		else
			for (Field field : row.getClass().getFields())
				columns.put(field.getName(), field.get(row));
		return columns;
	}

	// A method of the program, of the mapper, or of this class
	private List<?> own(String name, List<Object> values) throws Exception {
		for (Object object : List.of(this, mapper))
			for (Class<?> type : List.of(object.getClass(), object.getClass().getInterfaces().length > 0
					? object.getClass().getInterfaces()[0] : Client.class))
				for (Method method : type.getDeclaredMethods())
					if (method.getName().equals(name)) {
						method.setAccessible(true);
						Object rows = method.invoke(object, values.toArray());
						return rows instanceof List<?> list ? list : Stream.ofNullable(rows).toList();
					}
		return null;
	}

	private static final Pattern STATEMENT = Pattern.compile("^-- (\\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$", Pattern.MULTILINE);
	private static final Pattern PARAMETER = Pattern.compile("\\$(?:(\\w+)|\\[(\\w+),(\\w+)\\))");

	void check() throws Exception {
		Map<String, Object> known = new HashMap<>(Map.of("clock", OffsetDateTime.now()));
		Matcher part = STATEMENT.matcher(Files.readString(Path.of("statements.sql")));
		while (part.find()) {
			String name = part.group(1), statement = part.group(3), expected = part.group(4).strip();
			Map<String, Way> runs = new LinkedHashMap<>(Map.of("", this::run));
			if (name.equals("during"))
				runs.putAll(ways);
			runs.forEach((way, run) -> test(part.group(2) + way, () -> {
				List<Object> mine = new ArrayList<>(), values = new ArrayList<>();
				String text = PARAMETER.matcher(statement).replaceAll(match -> {
					Object since = known.get(match.group(2)), until = known.get(match.group(3));
					boolean one = match.group(1) != null;
					mine.addAll(one ? List.of(known.get(match.group(1))) : List.of(since, until));
					values.add(one ? known.get(match.group(1)) : "[" + since + "," + until + ")");
					return Matcher.quoteReplacement(place(values.size()) + (one ? "" : "::tstzrange"));
				});
				List<Object> items = new ArrayList<>();
				try {
					List<?> rows = way.isEmpty() ? own(name, mine) : null;
					for (Object row : rows != null ? rows : run.rows(text, values.toArray())) {
						known.putAll(columns(row));
						items.add(columns(row).get("item"));
					}
				} catch (Exception e) {
					if (!name.equals("error"))
						throw e;
					Told told = told(e);
					return (told.sqlState() + " " + told.hint()).startsWith(expected + ",");
				}
				return items.stream().map(Object::toString).collect(Collectors.joining(" ")).equals(expected);
			}));
		}
	}
}
