// Flyway

import java.nio.file.*;
import java.sql.DriverManager;

import org.flywaydb.core.Flyway;

class Orders {
	public static void main(String[] arguments) throws Exception {
		Files.copy(Path.of("orders.sql"), Path.of("flyway/V2__orders.sql"), StandardCopyOption.REPLACE_EXISTING);
		Flyway flyway = Flyway.configure().dataSource(Client.URL, null, null).locations("filesystem:flyway")
			.cleanDisabled(false).load();

		Client.test("migrate makes the table", () -> flyway.migrate().migrationsExecuted == 2);
		Client.test("a second migrate has nothing to do", () -> flyway.migrate().migrationsExecuted == 0
			&& flyway.validateWithResult().validationSuccessful);
		// It drops extensions of the user, too.
		Client.test("clean drops the extension, and migrate makes it again", () -> {
			flyway.clean();
			var found = Client.query(DriverManager.getConnection(Client.URL), "SELECT extname FROM pg_extension WHERE extname = 'pg_comb'");
			return found.isEmpty() && flyway.migrate().migrationsExecuted == 2;
		});
		// Flyway takes the $1 of 1.0's file for a quote, so 1.0 was installed by other programs.
		Client.test("the feed's file is a repeatable migration over 1.0, and bounds stay", () -> {
			String bound = "SELECT number FROM comb_feed";
			try (var connection = DriverManager.getConnection(Client.URL + "&preferQueryMode=simple");
					var statement = connection.createStatement()) {
				statement.execute(Files.readString(Path.of("../data/pg_comb_feed-1.0.sql")));
				statement.execute("CREATE TABLE feed (id bigserial)");
				statement.execute("SELECT comb_feed_add('feed_id_seq')");
				statement.execute("INSERT INTO feed DEFAULT VALUES");
				statement.execute("SELECT comb_feed_advance()");
				var before = Client.query(connection, bound);
				Files.copy(Path.of("../../sql/portable/pg_comb_feed.sql"), Path.of("flyway/R__feed.sql"));
				boolean migrated = flyway.migrate().migrationsExecuted == 1 && flyway.migrate().migrationsExecuted == 0;
				boolean same = Client.query(connection, bound).equals(before);
				statement.execute("SELECT comb_feed_remove('feed_id_seq')");
				statement.execute("DROP TABLE comb_feed CASCADE; DROP TABLE feed");
				return migrated && same;
			}
		});
	}
}
