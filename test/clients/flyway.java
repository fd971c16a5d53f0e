// Flyway

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;

import org.flywaydb.core.Flyway;

class Orders {
	static long value(String query) throws Exception {
		try (Connection db = DriverManager.getConnection(Client.url())) {
			ResultSet row = db.createStatement().executeQuery(query);
			row.next();
			return row.getLong(1);
		}
	}

	public static void main(String[] arguments) throws Exception {
		Client.showVersions("flyway-database-postgresql");
		Flyway flyway = Flyway.configure().dataSource(Client.url(), null, null).locations("filesystem:flyway")
			.cleanDisabled(false).load();

		Client.test("migrate makes the table", () -> flyway.migrate().migrationsExecuted == 1);
		Client.test("a second migrate has nothing to do", () -> flyway.migrate().migrationsExecuted == 0
			&& flyway.validateWithResult().validationSuccessful);
		Client.test("the table makes keys", () -> value(
			"INSERT INTO orders (item) VALUES ('bread') RETURNING (comb_timestamp(id) IS NOT NULL)::int") == 1);
		// It drops extensions of the user, too.
		Client.test("clean drops the extension, and migrate makes it again", () -> {
			flyway.clean();
			return value("SELECT count(*) FROM pg_extension WHERE extname = 'pg_comb'") == 0
				&& flyway.migrate().migrationsExecuted == 1
				&& value("SELECT count(*) FROM pg_extension WHERE extname LIKE 'pg_comb%'") == 2;
		});
		Client.done();
	}
}
