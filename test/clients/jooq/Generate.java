// Makes the table, and runs jOOQ's code generator on the schema, in which pg_comb is, too.

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
		try (var db = DriverManager.getConnection(Client.URL)) {
			Client.query(db, Client.createTable());
		}
		GenerationTool.generate(new Configuration()
			.withLogging(Logging.WARN)
			.withJdbc(new Jdbc().withUrl(Client.URL))
			.withGenerator(new Generator()
				.withDatabase(new Database().withName("org.jooq.meta.postgres.PostgresDatabase").withInputSchema("public"))
				.withGenerate(new Generate().withRecords(true))
				.withTarget(new Target().withPackageName("shop").withDirectory(arguments[0]))));
	}
}
