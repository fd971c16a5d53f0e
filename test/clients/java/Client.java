// What the programs for Java share: the checks, and TAP
//
// A program makes the table orders (id, number, item, amount, ref), as its client's users
// would, and is a subclass with one method for each task.

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public abstract class Client {
	public record Order(UUID id, long number, String item, int amount, UUID ref) { }

	public record Told(String sqlState, String hint) { }

	// The rows from since on and before until
	public interface Period { List<Order> rows(OffsetDateTime since, OffsetDateTime until) throws Exception; }

	abstract Order insert(String item) throws Exception;
	abstract List<Order> bulk(List<String> items) throws Exception;       // in one statement, or batch, in order
	abstract Order upsert(String item, int amount) throws Exception;      // inserts or updates by item
	abstract OffsetDateTime time(UUID id) throws Exception;               // the time of the key
	abstract List<Order> page(UUID after, int size) throws Exception;     // the next rows by the key
	abstract Order find(long number) throws Exception;                    // the row of a Snowflake
	abstract Order byText(String id) throws Exception;                    // the row of a key that is a text
	abstract void fail() throws Exception;                                // calls comb_generate('sequential')
	abstract Told told(Exception e);                                      // what the client says of the error
	boolean copies() { return false; }                                    // whether it has the next one
	List<Order> copy(List<String> items) throws Exception { return null; } // inserts by COPY, in order

	final Map<String, Period> periods = new LinkedHashMap<>();            // ways to read a period

	static final List<String> ITEMS = List.of("salt", "oil", "rice", "tea", "milk");
	static final List<String> ALL = List.of("bread", "salt", "oil", "rice", "tea", "milk");
	static int count, failed;

	// libpq's variables, as test/run sets them
	static String database() { return System.getenv("PGDATABASE"); }
	static String user() { return System.getenv("PGUSER"); }
	// Each statement is prepared on the server at once.  Its plan must do for every period.
	static String url() {
		return "jdbc:postgresql:" + database() + "?user=" + user() + "&socketFactory=UnixSockets"
			+ "&prepareThreshold=-1&options=-c%20plan_cache_mode=force_generic_plan";
	}

	// The runner copies the versions from this line into its table.
	static void showVersions(String... versions) throws Exception {
		String pom = Files.readString(Path.of("pom.xml"));
		List<String> shown = new ArrayList<>();
		for (String version : versions) {
			Matcher pinned = Pattern.compile("<artifactId>" + version + "</artifactId><version>([^<]+)<").matcher(pom);
			shown.add(pinned.find() ? version + " " + pinned.group(1) : version);
		}
		System.out.println("# versions: " + String.join(", ", shown) + ", Java " + Runtime.version().feature());
	}

	static String migration() throws Exception {
		return Files.readString(Path.of("flyway/V1__orders.sql"));
	}

	static void test(String name, Callable<Boolean> check) {
		boolean passed = false;
		count++;
		try {
			passed = check.call();
		} catch (Throwable e) {
			System.out.println("# " + e.toString().replace("\n", "\n# "));
			for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause())
				System.out.println("# " + cause.toString().replace("\n", "\n# "));
		}
		failed += passed ? 0 : 1;
		System.out.println((passed ? "ok " : "not ok ") + count + " - " + name);
	}

	static void done() {
		System.out.println("1.." + count);
		System.exit(failed > 0 ? 1 : 0);
	}

	static List<String> items(List<Order> orders) {
		return orders.stream().map(Order::item).toList();
	}

	// UUID.compareTo() has an order of its own, that of two signed numbers.
	static boolean ordered(List<Order> orders) {
		List<String> ids = orders.stream().map(order -> order.id().toString()).toList();
		return orders.stream().allMatch(order -> order.id().version() == 7)
			&& ids.equals(ids.stream().sorted().distinct().toList());
	}

	static boolean isNow(Instant at) {
		return Duration.between(at, Instant.now()).abs().toSeconds() < 60;
	}

	// The time of a key in the layout rtcomb_sql
	static Instant layoutTime(UUID ref) {
		return Instant.ofEpochMilli(ref.getLeastSignificantBits() & (1L << 48) - 1);
	}

	void check() {
		List<Order> rows = new ArrayList<>();

		test("an insert gives the id back", () -> {
			rows.add(insert("bread"));
			return rows.get(0).id().version() == 7;
		});
		test("rows of one statement have keys in order", () -> {
			rows.addAll(bulk(ITEMS));
			return items(rows).equals(ALL) && ordered(rows);
		});
		test("an upsert keeps the id", () -> {
			Order order = upsert("bread", 7);
			return order.id().equals(rows.get(0).id()) && order.amount() == 7;
		});
		test("the key has the time", () -> isNow(time(rows.get(0).id()).toInstant()));
		periods.forEach((name, period) -> test("a period by " + name, () -> {
			OffsetDateTime now = OffsetDateTime.now(), created = time(rows.get(0).id());
			return items(period.rows(now.minusMinutes(1), now.plusMinutes(1))).equals(ALL)
				&& period.rows(now.minusHours(2), now.minusHours(1)).isEmpty()
				&& items(period.rows(created, created.plusNanos(1_000_000))).contains("bread")
				&& period.rows(now.minusHours(1), created).isEmpty();
		}));
		test("pages by the key", () -> {
			List<Order> seen = new ArrayList<>(), page;
			for (UUID after = new UUID(0, 0); !(page = page(after, 4)).isEmpty(); after = page.get(page.size() - 1).id())
				seen.addAll(page);
			return items(seen).equals(ALL);
		});
		test("a key as text finds its row", () -> byText(rows.get(0).id().toString()).item().equals("bread"));
		test("a DEFAULT with a layout makes its keys", () -> rows.stream().allMatch(row ->
			row.ref().version() == 4 && isNow(layoutTime(row.ref()))));
		test("a Snowflake keeps its digits", () -> {
			List<Order> found = new ArrayList<>();
			for (Order row : rows)
				found.add(find(row.number()));
			return items(found).equals(ALL) && rows.get(0).number() > 1L << 53;
		});
		test("an error has its SQLSTATE and hint", () -> {
			try {
				fail();
				return false;
			} catch (Exception e) {
				Told told = told(e);
				return told.sqlState().equals("22023") && told.hint().startsWith("The layouts are uuidv7, ");
			}
		});
		if (copies()) test("COPY makes keys", () -> {
			List<Order> copied = copy(List.of("flour", "yeast"));
			return items(copied).equals(List.of("flour", "yeast")) && ordered(copied);
		});
	}

	// The server's error, which most clients wrap
	static Told server(Throwable e) {
		while (!(e instanceof org.postgresql.util.PSQLException told))
			e = e.getCause();
		return new Told(told.getSQLState(), told.getServerErrorMessage().getHint());
	}
}
