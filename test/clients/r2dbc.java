// R2DBC

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.r2dbc.postgresql.PostgresqlConnectionConfiguration;
import io.r2dbc.postgresql.PostgresqlConnectionFactory;
import io.r2dbc.postgresql.api.ErrorDetails;
import io.r2dbc.postgresql.api.PostgresqlConnection;
import io.r2dbc.postgresql.api.PostgresqlException;
import io.r2dbc.postgresql.api.PostgresqlStatement;
import io.r2dbc.spi.R2dbcException;
import reactor.core.publisher.Flux;

class Orders extends Client {
	static PostgresqlConnection db;

	static PostgresqlStatement statement(String query, Object... values) {
		PostgresqlStatement statement = db.createStatement(query);
		for (int i = 0; i < values.length; i++)
			statement.bind("$" + (i + 1), values[i]);
		return statement;
	}

	static List<?> rows(PostgresqlStatement statement) {
		return Flux.from(statement.execute()).concatMap(result -> result.map((row, metadata) -> {
			Map<String, Object> columns = new HashMap<>();
			metadata.getColumnMetadatas().forEach(column -> columns.put(column.getName(), row.get(column.getName())));
			return columns;
		})).collectList().block();
	}

	List<?> run(String text, Object... values) { return rows(statement(text, values)); }

	String place(int n) { return "$" + n; }

	List<?> insert(String item) {
		return rows(statement("INSERT INTO orders (item) VALUES ($1)", item).returnGeneratedValues());
	}

	List<?> text(String id) { return run("SELECT * FROM orders WHERE id = $1::uuid", id); }

	List<?> copy(String items) {
		db.copyIn("COPY orders (item) FROM STDIN", Flux.just(io.netty.buffer.Unpooled.wrappedBuffer(
			(items.replace(" ", "\n") + "\n").getBytes()))).block();
		return List.of();
	}

	Told told(Throwable e) {
		ErrorDetails details = ((PostgresqlException) e).getErrorDetails();
		return new Told(((R2dbcException) e).getSqlState(), details.getHint().orElse(""));
	}

	public static void main(String[] arguments) throws Exception {
		showVersions("r2dbc-postgresql");
		db = new PostgresqlConnectionFactory(PostgresqlConnectionConfiguration.builder()
			.socket(System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT"))
			.username(user()).database(database()).build()).create().block();
		// The plan of a prepared statement must do for every period.
		Flux.from(db.createStatement("SET plan_cache_mode = force_generic_plan").execute()).blockLast();
		new Orders().check();
		done();
	}
}
