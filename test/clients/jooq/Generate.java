// Makes the table, and runs jOOQ's code generator on the schema, in which pg_comb is, too.

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;

import org.jooq.codegen.GenerationTool;
import org.jooq.meta.jaxb.Configuration;
import org.jooq.meta.jaxb.Database;
import org.jooq.meta.jaxb.Generate;
import org.jooq.meta.jaxb.Generator;
import org.jooq.meta.jaxb.Jdbc;
import org.jooq.meta.jaxb.Logging;
import org.jooq.meta.jaxb.Target;

class Main {
	public static void main(String[] arguments) throws Exception {
		try (Connection db = DriverManager.getConnection(Client.url())) {
			db.createStatement().execute(Files.readString(Path.of("flyway/V1__orders.sql")));
		}
		GenerationTool.generate(new Configuration()
			.withLogging(Logging.WARN)
			.withJdbc(new Jdbc().withUrl(Client.url()))
			.withGenerator(new Generator()
				.withDatabase(new Database().withName("org.jooq.meta.postgres.PostgresDatabase").withInputSchema("public"))
				.withGenerate(new Generate().withRecords(true))
				.withTarget(new Target().withPackageName("shop").withDirectory(arguments[0]))));
	}
}
