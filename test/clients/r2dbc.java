// R2DBC

import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

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

	static List<Order> query(PostgresqlStatement statement) {
		return Flux.from(statement.execute()).concatMap(result -> result.map((row, metadata) ->
			new Order(row.get("id", UUID.class), row.get("number", Long.class), row.get("item", String.class),
				row.get("amount", Integer.class), row.get("ref", UUID.class)))).collectList().block();
	}

	static List<Order> query(String query, Object... values) { return query(statement(query, values)); }

	Order insert(String item) {
		return query(statement("INSERT INTO orders (item) VALUES ($1)", item).returnGeneratedValues()).get(0);
	}

	List<Order> bulk(List<String> items) {
		return query("INSERT INTO orders (item) SELECT unnest($1) RETURNING *", (Object) items.toArray(new String[0]));
	}

	Order upsert(String item, int amount) {
		return query("INSERT INTO orders (item, amount) VALUES ($1, $2)"
			+ " ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *", item, amount).get(0);
	}

	OffsetDateTime time(UUID id) {
		return Flux.from(statement("SELECT comb_timestamp($1)", id).execute())
			.concatMap(result -> result.map((row, metadata) -> row.get(0, OffsetDateTime.class))).blockFirst();
	}

	List<Order> between(OffsetDateTime since, OffsetDateTime until) {
		return query("SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id", since, until);
	}

	List<Order> during(OffsetDateTime since, OffsetDateTime until) {
		return query("SELECT * FROM orders WHERE comb_created(id, $1::tstzrange) ORDER BY id",
			"[" + since + "," + until + ")");
	}

	List<Order> page(UUID after, int size) {
		return query("SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2", after, size);
	}

	Order find(long number) { return query("SELECT * FROM orders WHERE number = $1", number).get(0); }
	Order byText(String id) { return query("SELECT * FROM orders WHERE id = $1::uuid", id).get(0); }

	boolean copies() { return true; }

	List<Order> copy(List<String> items) {
		db.copyIn("COPY orders (item) FROM STDIN", Flux.just(io.netty.buffer.Unpooled.wrappedBuffer(
			(String.join("\n", items) + "\n").getBytes()))).block();
		return query("SELECT * FROM orders WHERE item = any($1) ORDER BY id", (Object) items.toArray(new String[0]));
	}

	void fail() { query("SELECT comb_generate('sequential')"); }

	Told told(Exception e) {
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
		Flux.from(db.createStatement(migration()).execute()).blockLast();
		Orders orders = new Orders();
		orders.periods.put("two timestamps", orders::between);
		orders.periods.put("a range", orders::during);
		orders.check();
		done();
	}
}
