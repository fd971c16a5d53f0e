// JDBC

import java.io.StringReader;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.postgresql.PGConnection;

class Orders extends Client {
	static Connection db;

	static List<Order> query(Connection db, String query, Object... values) throws SQLException {
		List<Order> orders = new ArrayList<>();
		try (PreparedStatement statement = db.prepareStatement(query)) {
			for (int i = 0; i < values.length; i++)
				statement.setObject(i + 1, values[i]);
			ResultSet row = statement.executeQuery();
			while (row.next())
				orders.add(new Order(row.getObject("id", UUID.class), row.getLong("number"),
					row.getString("item"), row.getInt("amount"), row.getObject("ref", UUID.class)));
		}
		return orders;
	}

	static List<Order> query(String query, Object... values) throws SQLException {
		return query(db, query, values);
	}

	Order insert(String item) throws SQLException {
		return query("INSERT INTO orders (item) VALUES (?) RETURNING *", item).get(0);
	}

	List<Order> bulk(List<String> items) throws SQLException {
		Array array = db.createArrayOf("text", items.toArray());
		return query("INSERT INTO orders (item) SELECT unnest(?) RETURNING *", array);
	}

	Order upsert(String item, int amount) throws SQLException {
		return query("""
			INSERT INTO orders (item, amount) VALUES (?, ?)
			ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *""", item, amount).get(0);
	}

	OffsetDateTime time(UUID id) throws SQLException {
		PreparedStatement statement = db.prepareStatement("SELECT comb_timestamp(?)");
		statement.setObject(1, id);
		ResultSet row = statement.executeQuery();
		row.next();
		return row.getObject(1, OffsetDateTime.class);
	}

	List<Order> between(OffsetDateTime since, OffsetDateTime until) throws SQLException {
		return query("SELECT * FROM orders WHERE comb_during(id, ?, ?) ORDER BY id", since, until);
	}

	List<Order> during(OffsetDateTime since, OffsetDateTime until) throws SQLException {
		return query("SELECT * FROM orders WHERE comb_created(id, ?::tstzrange) ORDER BY id",
			"[" + since + "," + until + ")");
	}

	// As a pooler in transaction mode needs it
	static Period unprepared(String setting) throws SQLException {
		Connection other = DriverManager.getConnection(url() + "&" + setting);
		return (since, until) ->
			query(other, "SELECT * FROM orders WHERE comb_during(id, ?, ?) ORDER BY id", since, until);
	}

	List<Order> page(UUID after, int size) throws SQLException {
		return query("SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?", after, size);
	}

	Order find(long number) throws SQLException {
		return query("SELECT * FROM orders WHERE number = ?", number).get(0);
	}

	Order byText(String id) throws SQLException {
		try (PreparedStatement statement = db.prepareStatement("SELECT number FROM orders WHERE id = ?")) {
			statement.setObject(1, id, Types.OTHER);
			ResultSet row = statement.executeQuery();
			row.next();
			return find(row.getLong(1));
		}
	}

	boolean copies() { return true; }

	List<Order> copy(List<String> items) throws Exception {
		db.unwrap(PGConnection.class).getCopyAPI()
			.copyIn("COPY orders (item) FROM STDIN", new StringReader(String.join("\n", items) + "\n"));
		return query("SELECT * FROM orders WHERE item = any(?) ORDER BY id", db.createArrayOf("text", items.toArray()));
	}

	void fail() throws SQLException { query("SELECT comb_generate('sequential')"); }

	Told told(Exception e) { return server(e); }

	static List<Order> batch(List<String> items) throws SQLException {
		List<Order> made = new ArrayList<>();
		db.setAutoCommit(false);
		try (PreparedStatement statement = db.prepareStatement(
				"INSERT INTO orders (item) VALUES (?)", new String[] { "id" })) {
			for (String item : items) {
				statement.setString(1, item + " in a batch");
				statement.addBatch();
			}
			statement.executeBatch();
			ResultSet keys = statement.getGeneratedKeys();
			while (keys.next())
				made.add(new Order(keys.getObject("id", UUID.class), 0, "", 0, null));
		}
		db.rollback();
		db.setAutoCommit(true);
		return made;
	}

	public static void main(String[] arguments) throws Exception {
		Orders orders = new Orders();
		db = DriverManager.getConnection(url());
		showVersions("pgjdbc " + db.getMetaData().getDriverVersion());
		db.createStatement().execute(migration());
		orders.periods.put("two timestamps", orders::between);
		orders.periods.put("a range", orders::during);
		orders.periods.put("two timestamps, unprepared", unprepared("prepareThreshold=0"));
		orders.periods.put("two timestamps, in the text", unprepared("preferQueryMode=simple"));
		orders.check();

		test("a batch gives its keys back", () -> {
			List<Order> made = batch(ITEMS);
			return made.size() == 5 && ordered(made);
		});
		test("a text without a cast is no range", () -> {
			try {
				query("SELECT * FROM orders WHERE comb_created(id, ?)", "[2026-11-20,2026-11-21)");
				return false;
			} catch (SQLException e) {
				return e.getSQLState().equals("42883");
			}
		});
		done();
	}
}
