// Flyway

import java.sql.DriverManager;
import java.util.Map;

import org.flywaydb.core.Flyway;

class Orders {
	static boolean holds(String query) throws Exception {
		try (var db = DriverManager.getConnection(Client.URL)) {
			return Client.query(db, query).equals(java.util.List.of(Map.of("holds", true)));
		}
	}

	public static void main(String[] arguments) throws Exception {
		Client.showVersions("flyway-database-postgresql");
		Flyway flyway = Flyway.configure().dataSource(Client.URL, null, null).locations("filesystem:flyway")
			.placeholders(Map.of("orders", Client.createTable())).cleanDisabled(false).load();

		Client.test("migrate makes the table", () -> flyway.migrate().migrationsExecuted == 1);
		Client.test("a second migrate has nothing to do", () -> flyway.migrate().migrationsExecuted == 0
			&& flyway.validateWithResult().validationSuccessful);
		Client.test("the table makes keys", () -> holds(
			"INSERT INTO orders (item) VALUES ('bread') RETURNING comb_timestamp(id) IS NOT NULL AS holds"));
		// It drops extensions of the user, too.
		Client.test("clean drops the extension, and migrate makes it again", () -> {
			flyway.clean();
			return holds("SELECT count(*) = 0 AS holds FROM pg_extension WHERE extname = 'pg_comb'")
				&& flyway.migrate().migrationsExecuted == 1
				&& holds("SELECT count(*) = 2 AS holds FROM pg_extension WHERE extname LIKE 'pg_comb%'");
		});
	}
}
