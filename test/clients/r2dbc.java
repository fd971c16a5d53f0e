// R2DBC

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.r2dbc.postgresql.*;
import io.r2dbc.postgresql.api.*;
import reactor.core.publisher.Flux;

class Orders extends Client {
	static PostgresqlConnection db;

	List<?> run(String text, Object... values) {
		PostgresqlStatement statement = db.createStatement(text);
		for (int i = 0; i < values.length; i++)
			statement.bind("$" + (i + 1), values[i]);
		return Flux.from(statement.execute()).concatMap(result -> result.map((row, metadata) -> {
			Map<String, Object> columns = new HashMap<>();
			metadata.getColumnMetadatas().forEach(column -> columns.put(column.getName(), row.get(column.getName())));
			return columns;
		})).collectList().block();
	}

	String place(int n) { return "$" + n; }

	void copy(String items) {
		db.copyIn("COPY orders (item) FROM STDIN", Flux.just(io.netty.buffer.Unpooled.wrappedBuffer(
			(items.replace(" ", "\n") + "\n").getBytes()))).block();
	}

	String told(Exception e) {
		ErrorDetails details = ((PostgresqlException) e).getErrorDetails();
		return details.getCode() + " " + details.getHint().orElse("");
	}

	public static void main(String[] arguments) throws Exception {
		db = new PostgresqlConnectionFactory(PostgresqlConnectionConfiguration.builder()
			.socket(System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT")).username(USER).database(DATABASE).build()).create().block();
		new Orders().check();
	}
}
