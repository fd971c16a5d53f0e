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
import reactor.core.publisher.Flux;

class Orders extends Client {
	static PostgresqlConnection db;

	static List<?> rows(PostgresqlStatement statement, Object... values) {
		for (int i = 0; i < values.length; i++)
			statement.bind("$" + (i + 1), values[i]);
		return Flux.from(statement.execute()).concatMap(result -> result.map((row, metadata) -> {
			Map<String, Object> columns = new HashMap<>();
			metadata.getColumnMetadatas().forEach(column -> columns.put(column.getName(), row.get(column.getName())));
			return columns;
		})).collectList().block();
	}

	List<?> run(String text, Object... values) { return rows(db.createStatement(text), values); }

	String place(int n) { return "$" + n; }

	List<?> insert(String item) {
		return rows(db.createStatement("INSERT INTO orders (item) VALUES ($1)").returnGeneratedValues(), item);
	}

	void copy(String items) {
		db.copyIn("COPY orders (item) FROM STDIN", Flux.just(io.netty.buffer.Unpooled.wrappedBuffer(
			(items.replace(" ", "\n") + "\n").getBytes()))).block();
	}

	String told(Throwable e) {
		ErrorDetails details = ((PostgresqlException) e).getErrorDetails();
		return details.getCode() + " " + details.getHint().orElse("");
	}

	public static void main(String[] arguments) throws Exception {
		showVersions("r2dbc-postgresql");
		db = new PostgresqlConnectionFactory(PostgresqlConnectionConfiguration.builder()
			.socket(System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT")).username(USER).database(DATABASE).build()).create().block();
		new Orders().check();
	}
}
