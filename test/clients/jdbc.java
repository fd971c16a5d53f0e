// JDBC

import java.io.StringReader;
import java.sql.*;
import java.util.List;

class Orders extends Client {
	// As a pooler in transaction mode needs it
	static Way unprepared(String setting) throws SQLException {
		var other = DriverManager.getConnection(URL + "&" + setting);
		return (text, values) -> query(other, text, values);
	}

	void copy(String items) throws Exception {
		db.unwrap(org.postgresql.PGConnection.class).getCopyAPI()
			.copyIn("COPY orders (item) FROM STDIN", new StringReader(items.replace(" ", "\n") + "\n"));
	}

	public static void main(String[] arguments) throws Exception {
		Orders orders = new Orders();
		orders.db = DriverManager.getConnection(URL);
		// The runner copies the versions from this line into its table.
		System.out.println("# versions: pgjdbc " + orders.db.getMetaData().getDriverVersion() + ", Java " + Runtime.version().feature());
		orders.ways.put(", unprepared", unprepared("prepareThreshold=0"));
		orders.ways.put(", in the text", unprepared("preferQueryMode=simple"));
		orders.check();

		test("a batch gives its keys back, in order", () -> {
			PreparedStatement statement = orders.db.prepareStatement(
				"INSERT INTO orders (item) VALUES (?)", new String[] { "id" });
			for (String item : List.of("a", "b", "c")) {
				statement.setString(1, item);
				statement.addBatch();
			}
			statement.executeBatch();
			return rows(statement.getGeneratedKeys()).equals(
				query(orders.db, "SELECT id FROM orders WHERE item IN ('a', 'b', 'c') ORDER BY id"));
		});
	}
}
