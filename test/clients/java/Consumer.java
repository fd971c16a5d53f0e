// The consumer with positions of doc/feed_readers.md: nobody holds it up, and it misses no row.
//
// java -cp postgresql.jar Consumer.java jdbc:postgresql:app mail     prints each new row of event_log

import java.sql.*;
import java.util.function.*;

public class Consumer {
	public interface Handler { void handle(String id, String body) throws SQLException; }

	// Handles the new rows and moves the position, or neither.
	static void poll(Connection db, String name, Handler handler) throws SQLException {
		db.setAutoCommit(false);
		try (var poll = db.prepareStatement("""
				WITH moved AS (
					UPDATE event_reader AS new SET position = comb_position(old.position)
					FROM (SELECT * FROM event_reader WHERE name = ? FOR UPDATE) AS old
					WHERE new.name = old.name RETURNING old.position)
				SELECT id, body FROM moved, event_log WHERE comb_unread(id, event_log.xmin, position) ORDER BY id""")) {
			poll.setString(1, name);
			for (var row = poll.executeQuery(); row.next();)
				handler.handle(row.getString(1), row.getString(2));
			db.commit();
		} catch (Throwable e) {
			db.rollback();
			throw e;
		} finally {
			db.setAutoCommit(true);
		}
	}

	public static void consume(Connection db, String name, Handler handler, BooleanSupplier stopped) throws SQLException {
		String seen = null;
		while (!stopped.getAsBoolean()) {
			try (var wait = db.prepareStatement("CALL comb_wait(?::bigint, '1 s')")) {
				wait.setString(1, seen);
				var row = wait.executeQuery();
				row.next();
				seen = row.getString(1);
			}
			poll(db, name, handler);
		}
	}

	public static void main(String[] arguments) throws SQLException {
		consume(DriverManager.getConnection(arguments[0]), arguments[1], (id, body) -> System.out.println(id + " " + body), () -> false);
	}
}
