// The runner of statements.sql for Java, and TAP
//
// A program is a subclass.  Its methods with the name of a statement, or those of its mapper, are
// called in the statement's place.  They return rows: maps, records, or objects with fields.

import java.lang.reflect.*;
import java.nio.file.*;
import java.sql.*;
import java.time.OffsetDateTime;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.regex.*;
import java.util.stream.*;

public abstract class Client {
	public interface Way { List<?> rows(String text, Object... values) throws Exception; }

	Connection db;                                        // the driver's
	Object mapper;
	final Map<String, Way> ways = new LinkedHashMap<>();  // forms of a period by two timestamps

	// libpq's variables, as the test sets them.  Each statement is prepared on the server at once.
	static final String DATABASE = System.getenv("PGDATABASE"), USER = System.getenv("PGUSER"),
		URL = "jdbc:postgresql:" + DATABASE + "?user=" + USER + "&socketFactory=UnixSockets&prepareThreshold=-1";

	static void test(String name, Callable<Boolean> check) {
		boolean passed = false;
		try {
			passed = check.call();
		} catch (Throwable e) {
			for (Throwable cause = e; cause != null; cause = cause.getCause())
				System.out.println("# " + cause.toString().replace("\n", "\n# "));
		}
		System.out.println((passed ? "ok - " : "not ok - ") + name);
	}

	static List<Map<String, Object>> rows(ResultSet row) throws SQLException {
		List<Map<String, Object>> rows = new ArrayList<>();
		ResultSetMetaData columns = row.getMetaData();
		while (row.next()) {
			rows.add(new HashMap<>());
			for (int i = 1; i <= columns.getColumnCount(); i++)
				rows.get(rows.size() - 1).put(columns.getColumnName(i), columns.getColumnTypeName(i).equals("timestamptz")
					? row.getObject(i, OffsetDateTime.class) : row.getObject(i));
		}
		return rows;
	}

	static List<Map<String, Object>> query(Connection db, String text, Object... values) throws SQLException {
		try (PreparedStatement statement = db.prepareStatement(text)) {
			for (int i = 0; i < values.length; i++)
				statement.setObject(i + 1, values[i]);
			return statement.execute() ? rows(statement.getResultSet()) : List.of();
		}
	}

	List<?> run(String text, Object... values) throws Exception { return query(db, text, values); }

	String place(int n) { return "?"; }

	// What the server's error says
	String told(Exception e) {
		var told = (org.postgresql.util.PSQLException) e;
		return told.getSQLState() + " " + told.getServerErrorMessage().getHint();
	}

	// A method of the program, or of its mapper's interface, or else the statement itself
	private Way way(String name) {
		for (Object object : mapper == null ? List.of(this) : List.of(this, mapper))
			for (Method method : (object == this ? getClass() : object.getClass().getInterfaces()[0]).getDeclaredMethods())
				if (method.getName().equals(name))
					return (text, values) -> {
						method.setAccessible(true);
						return method.invoke(object, values) instanceof List<?> rows ? rows : List.of();
					};
		return this::run;
	}

	private static final Pattern STATEMENT = Pattern.compile("^-- (\\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$", Pattern.MULTILINE);
	private static final Pattern PARAMETER = Pattern.compile("\\$(?:(\\w+)|\\[(\\w+),(\\w+)\\))");

	// Columns of the statements before
	private final Map<String, Object> known = new HashMap<>();

	private String items(List<?> rows) throws Exception {
		List<String> items = new ArrayList<>();
		for (Object row : rows) {
			Map<String, Object> columns = new HashMap<>();
			if (row instanceof Map<?, ?> map)
				map.forEach((name, value) -> columns.put((String) name, value));
			else
				for (Field field : row.getClass().getDeclaredFields()) {
					field.setAccessible(true);
					columns.put(field.getName(), field.get(row));
				}
			known.putAll(columns);
			items.add((String) columns.get("item"));
		}
		return String.join(" ", items);
	}

	// Runs a statement, and returns the items of its rows, or what an error says.
	private String answer(String name, String statement, Way way) throws Exception {
		List<Object> values = new ArrayList<>();
		String text = PARAMETER.matcher(statement).replaceAll(match -> {
			boolean one = match.group(1) != null;
			values.add(one ? known.get(match.group(1)) : "[" + known.get(match.group(2)) + "," + known.get(match.group(3)) + ")");
			// JDBC sends a text as varchar, which is neither a uuid nor a range.
			String cast = !one ? "::tstzrange" : name.equals("text") ? "::uuid" : "";
			return Matcher.quoteReplacement(place(values.size()) + cast);
		});
		try {
			return items(way.rows(text, values.toArray()));
		} catch (Exception e) {
			if (!name.equals("error"))
				throw e;
			return told(e).replaceFirst(",.*", "");
		}
	}

	void check() throws Exception {
		if (db == null)
			db = DriverManager.getConnection(URL);
		known.put("clock", OffsetDateTime.now());
		for (Matcher part = STATEMENT.matcher(Files.readString(Path.of("statements.sql"))); part.find();) {
			String name = part.group(1), title = part.group(2), statement = part.group(3), expected = part.group(4).strip();
			test(title, () -> answer(name, statement, way(name)).equals(expected));
			if (name.equals("during"))
				ways.forEach((form, way) -> test(title + form, () -> answer(name, statement, way).equals(expected)));
		}
	}
}
