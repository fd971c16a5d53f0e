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
	}
}
