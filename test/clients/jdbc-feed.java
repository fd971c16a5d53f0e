// logged: readers of public.by_client by "id" can lose rows
// The program Consumer.java: its handler fails, and it goes on; and an idle writer does not hold it up

import java.sql.*;
import java.util.*;

class Orders extends Client {
	public static void main(String[] arguments) throws Exception {
		Connection db = DriverManager.getConnection(URL), writer = DriverManager.getConnection(URL), idle = DriverManager.getConnection(URL);
		System.out.println("# versions: pgjdbc " + db.getMetaData().getDriverVersion() + ", Java " + Runtime.version().feature());
		query(writer, "CREATE TABLE event_log (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text)");
		query(writer, "CREATE TABLE event_reader (name text PRIMARY KEY, position text)");
		query(writer, "INSERT INTO event_reader VALUES ('mail')");
		query(writer, "INSERT INTO event_log (body) SELECT n FROM generate_series(1, 9) AS n");

		test("a consumer whose handler fails can go on", () -> {
			List<String> got = new ArrayList<>();
			try {
				Consumer.consume(db, "mail", (id, body) -> {
					if (got.size() == 4) throw new SQLException("no mail today");
					got.add(body);
				}, () -> false);
				return false;
			} catch (SQLException e) {
				if (!e.getMessage().equals("no mail today")) throw e;
			}
			query(writer, "SELECT FROM event_reader FOR UPDATE NOWAIT");
			got.clear();
			Consumer.consume(db, "mail", (id, body) -> got.add(body), () -> got.size() == 9);
			return got.stream().distinct().count() == 9;
		});

		test("a consumer gets each row once, beside an idle writer", () -> {
			List<String> got = Collections.synchronizedList(new ArrayList<>());
			idle.setAutoCommit(false);
			query(idle, "INSERT INTO event_log (body) VALUES ('idle')");
			Thread load = new Thread(() -> {
				try {
					for (int n = 0; n < 200; n++)
						query(writer, "INSERT INTO event_log (body) VALUES (?)", "row " + n);
				} catch (SQLException e) {
					System.out.println("# " + e);
				}
			});
			load.start();
			Consumer.consume(db, "mail", (id, body) -> got.add(body), () -> got.size() >= 200);
			boolean early = got.contains("idle");
			idle.commit();
			Consumer.consume(db, "mail", (id, body) -> got.add(body), () -> got.size() >= 201);
			return !early && got.size() == 201 && got.get(200).equals("idle") && new HashSet<>(got).size() == 201;
		});

		test("a feed over keys of clients warns, once", () -> {
			query(writer, "CREATE TABLE by_client (id uuid PRIMARY KEY)");
			int warnings = 0;
			try (PreparedStatement poll = writer.prepareStatement("SELECT * FROM by_client WHERE id < comb_settled()")) {
				for (int n = 0; n < 10; n++) {
					poll.executeQuery().close();
					for (SQLWarning w = poll.getWarnings(); w != null; w = w.getNextWarning())
						if (w.getSQLState().equals("01000") && w.getMessage().contains("by_client")) warnings++;
					poll.clearWarnings();
				}
			}
			return warnings == 1;
		});
	}
}
