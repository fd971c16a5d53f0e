// JDBC

import java.io.StringReader;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

import org.postgresql.PGConnection;

class Orders extends Client {
	// As a pooler in transaction mode needs it
	static Way unprepared(String setting) throws SQLException {
		var other = DriverManager.getConnection(url() + "&" + setting);
		return (text, values) -> query(other, text, values);
	}

	List<?> copy(String items) throws Exception {
		db.unwrap(PGConnection.class).getCopyAPI()
			.copyIn("COPY orders (item) FROM STDIN", new StringReader(items.replace(" ", "\n") + "\n"));
		return List.of();
	}

	// The keys of a batch
	List<?> batch(String... items) throws SQLException {
		List<String> keys = new ArrayList<>();
		try (PreparedStatement statement = db.prepareStatement(
				"INSERT INTO orders (item) VALUES (?)", new String[] { "id" })) {
			for (String item : items) {
				statement.setString(1, item);
				statement.addBatch();
			}
			statement.executeBatch();
			ResultSet made = statement.getGeneratedKeys();
			while (made.next())
				keys.add(made.getString("id"));
		}
		return keys;
	}

	public static void main(String[] arguments) throws Exception {
		Orders orders = new Orders();
		orders.db = DriverManager.getConnection(url());
		showVersions("pgjdbc " + orders.db.getMetaData().getDriverVersion());
		orders.ways.put(", unprepared", unprepared("prepareThreshold=0"));
		orders.ways.put(", in the text", unprepared("preferQueryMode=simple"));
		orders.check();

		test("a batch gives its keys back, in order", () -> orders.batch("a", "b", "c").equals(
			query(orders.db, "SELECT id::text AS id FROM orders WHERE item IN ('a', 'b', 'c') ORDER BY id")
				.stream().map(row -> row.get("id")).toList()));
		test("a text without a cast is no range", () -> {
			try {
				query(orders.db, "SELECT * FROM orders WHERE comb_created(id, ?)", "[2026-11-20,2026-11-21)");
				return false;
			} catch (SQLException e) {
				return e.getSQLState().equals("42883");
			}
		});
		done();
	}
}
