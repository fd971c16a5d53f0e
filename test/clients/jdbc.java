// JDBC

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Callable;

import javax.net.SocketFactory;

import org.postgresql.util.PSQLException;

class Orders {
	record Order(UUID id, long number, String item, int amount) { }

	interface Period { List<Order> rows(OffsetDateTime since, OffsetDateTime until) throws SQLException; }

	static final List<String> ITEMS = List.of("salt", "oil", "rice", "tea", "milk");
	static final List<String> ALL = List.of("bread", "salt", "oil", "rice", "tea", "milk");
	static Connection db;
	static int count, failed;

	static void test(String name, Callable<Boolean> check) {
		boolean passed = false;
		count++;
		try {
			passed = check.call();
		} catch (Exception e) {
			System.out.println("# " + e);
		}
		failed += passed ? 0 : 1;
		System.out.println((passed ? "ok " : "not ok ") + count + " - " + name);
	}

	static List<Order> query(String query, Object... values) throws SQLException {
		List<Order> orders = new ArrayList<>();
		try (PreparedStatement statement = db.prepareStatement(query)) {
			for (int i = 0; i < values.length; i++)
				statement.setObject(i + 1, values[i]);
			ResultSet row = statement.executeQuery();
			while (row.next())
				orders.add(new Order(row.getObject("id", UUID.class), row.getLong("number"),
					row.getString("item"), row.getInt("amount")));
		}
		return orders;
	}

	static List<String> items(List<Order> orders) {
		return orders.stream().map(Order::item).toList();
	}

	static List<Order> between(OffsetDateTime since, OffsetDateTime until) throws SQLException {
		return query("SELECT * FROM orders WHERE comb_during(id, ?, ?) ORDER BY id", since, until);
	}

	static List<Order> during(OffsetDateTime since, OffsetDateTime until) throws SQLException {
		return query("SELECT * FROM orders WHERE comb_created(id, ?::tstzrange) ORDER BY id",
			"[" + since + "," + until + ")");
	}

	// UUID.compareTo() has an order of its own, that of two signed numbers.
	static boolean ordered(List<Order> orders) {
		List<String> ids = orders.stream().map(order -> order.id().toString()).toList();
		return orders.stream().allMatch(order -> order.id().version() == 7)
			&& ids.equals(ids.stream().sorted().distinct().toList());
	}

	public static void main(String[] arguments) throws Exception {
		// The test's server has a Unix socket only, for which JDBC needs a class.
		Properties properties = new Properties();
		properties.setProperty("user", System.getenv("PGUSER"));
		properties.setProperty("socketFactory", UnixSockets.class.getName());
		db = DriverManager.getConnection("jdbc:postgresql:" + System.getenv("PGDATABASE"), properties);
		System.out.println("# versions: pgjdbc " + db.getMetaData().getDriverVersion()
			+ ", Java " + Runtime.version().feature());

		db.createStatement().execute("""
			CREATE TABLE orders (
				id uuid PRIMARY KEY DEFAULT comb_generate(),
				number bigint NOT NULL DEFAULT comb_snowflake(),
				item text NOT NULL UNIQUE,
				amount int NOT NULL DEFAULT 1)""");

		Order first = query("INSERT INTO orders (item) VALUES (?) RETURNING *", "bread").get(0);
		test("an insert gives the id back", () -> first.id().version() == 7);

		List<Order> rows = new ArrayList<>(List.of(first));
		test("rows of one statement have keys in order", () -> {
			Array items = db.createArrayOf("text", ITEMS.toArray());
			rows.addAll(query("INSERT INTO orders (item) SELECT unnest(?) RETURNING *", items));
			return items(rows).equals(ALL) && ordered(rows);
		});

		test("a batch gives its keys back", () -> {
			List<Order> made = new ArrayList<>();
			db.setAutoCommit(false);
			try (PreparedStatement statement = db.prepareStatement(
					"INSERT INTO orders (item) VALUES (?)", new String[] { "id" })) {
				for (String item : ITEMS) {
					statement.setString(1, item + " in a batch");
					statement.addBatch();
				}
				statement.executeBatch();
				ResultSet keys = statement.getGeneratedKeys();
				while (keys.next())
					made.add(new Order(keys.getObject("id", UUID.class), 0, "", 0));
			}
			db.rollback();
			db.setAutoCommit(true);
			return made.size() == 5 && ordered(made);
		});

		test("an upsert keeps the id", () -> {
			Order order = query("""
				INSERT INTO orders (item, amount) VALUES (?, ?)
				ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *""", "bread", 7).get(0);
			return order.id().equals(first.id()) && order.amount() == 7;
		});

		PreparedStatement timestamp = db.prepareStatement("SELECT comb_timestamp(?)");
		timestamp.setObject(1, first.id());
		ResultSet row = timestamp.executeQuery();
		row.next();
		OffsetDateTime created = row.getObject(1, OffsetDateTime.class);
		OffsetDateTime now = OffsetDateTime.now();
		test("the key has the time", () -> Math.abs(ChronoUnit.SECONDS.between(created, now)) < 60);

		List<Period> periods = List.of(Orders::between, Orders::during);
		List<String> names = List.of("two timestamps", "a range");
		for (int i = 0; i < 2; i++) {
			Period period = periods.get(i);
			test("a period by " + names.get(i), () ->
				items(period.rows(now.minusMinutes(1), now.plusMinutes(1))).equals(ALL)
				&& period.rows(now.minusHours(2), now.minusHours(1)).isEmpty()
				&& period.rows(created, created.plus(1, ChronoUnit.MILLIS)).contains(query("SELECT * FROM orders WHERE item = 'bread'").get(0))
				&& period.rows(now.minusHours(1), created).isEmpty());
		}

		test("a text without a cast is no range", () -> {
			try {
				query("SELECT * FROM orders WHERE comb_created(id, ?)", "[2026-11-20,2026-11-21)");
				return false;
			} catch (SQLException e) {
				return e.getSQLState().equals("42883");
			}
		});

		test("pages by the key", () -> {
			List<Order> seen = new ArrayList<>(), page;
			UUID after = new UUID(0, 0);
			while (!(page = query("SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?", after, 4)).isEmpty()) {
				seen.addAll(page);
				after = page.get(page.size() - 1).id();
			}
			return items(seen).equals(ALL);
		});

		test("a Snowflake keeps its digits", () -> {
			List<Order> found = new ArrayList<>();
			for (Order order : rows)
				found.addAll(query("SELECT * FROM orders WHERE number = ?", order.number()));
			return items(found).equals(ALL) && first.number() > 1L << 53;
		});

		test("an error has its SQLSTATE and hint", () -> {
			try {
				query("SELECT comb_generate('sequential')");
				return false;
			} catch (PSQLException e) {
				return e.getSQLState().equals("22023")
					&& e.getServerErrorMessage().getHint().startsWith("The layouts are uuidv7, ");
			}
		});

		System.out.println("1.." + count);
		System.exit(failed > 0 ? 1 : 0);
	}

	public static class UnixSockets extends SocketFactory {
		public UnixSockets() { }
		public Socket createSocket() { return new UnixSocket(); }
		public Socket createSocket(String host, int port) { return createSocket(); }
		public Socket createSocket(String host, int port, InetAddress from, int at) { return createSocket(); }
		public Socket createSocket(InetAddress host, int port) { return createSocket(); }
		public Socket createSocket(InetAddress host, int port, InetAddress from, int at) { return createSocket(); }
	}
}

class UnixSocket extends Socket {
	private SocketChannel channel;

	public void connect(SocketAddress ignored, int timeout) throws IOException {
		channel = SocketChannel.open(StandardProtocolFamily.UNIX);
		channel.connect(UnixDomainSocketAddress.of(
			System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT")));
	}

	public InputStream getInputStream() { return Channels.newInputStream(channel); }
	public OutputStream getOutputStream() { return Channels.newOutputStream(channel); }
	public boolean isConnected() { return channel != null; }
	public boolean isClosed() { return channel != null && !channel.isOpen(); }
	public void close() throws IOException { channel.close(); }
	public void setTcpNoDelay(boolean on) { }
	public void setKeepAlive(boolean on) { }
	public void setSoTimeout(int timeout) { }
	public int getSoTimeout() { return 0; }
	public int getSendBufferSize() { return 8192; }
}
