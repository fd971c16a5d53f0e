// Hibernate: entities, HQL, and its schema update

import java.io.StringWriter;
import java.time.OffsetDateTime;
import java.util.*;
import java.util.stream.Stream;

import jakarta.persistence.*;

import org.hibernate.SessionFactory;
import org.hibernate.annotations.*;
import org.hibernate.cfg.Configuration;
import org.hibernate.query.Page;

class Orders extends Client {
	@Entity(name = "Order")
	@Table(name = "orders")
	public static class Row {
		@Id @Generated @ColumnDefault("comb_generate()") public UUID id;
		@Generated @Column(nullable = false) @ColumnDefault("comb_snowflake()") public long number;
		@Column(nullable = false, unique = true, columnDefinition = "text") public String item;
		@Generated @Column(nullable = false) @ColumnDefault("comb_generate('rtcomb_sql')") public UUID ref;
		@Formula("comb_timestamp(id)") public OffsetDateTime createdAt;

		static Row of(String item) {
			Row row = new Row();
			row.item = item;
			return row;
		}
	}

	static SessionFactory factory;

	static Configuration configuration() {
		return new Configuration().addAnnotatedClass(Row.class).setProperty("hibernate.connection.url", URL);
	}

	// What a schema update would do
	static List<String> update() {
		StringWriter script = new StringWriter();
		Configuration configuration = configuration();
		configuration.getProperties().put("jakarta.persistence.schema-generation.scripts.action", "update");
		configuration.getProperties().put("jakarta.persistence.schema-generation.scripts.create-target", script);
		configuration.buildSessionFactory().close();
		return script.toString().strip().lines().toList();
	}

	static List<Row> query(String query, Object... values) {
		return factory.fromSession(session -> {
			var selection = session.createSelectionQuery(query, Row.class);
			for (int i = 0; i < values.length; i++)
				selection.setParameter(i + 1, values[i]);
			return selection.list();
		});
	}

	void table() {
		factory = configuration().setProperty("hibernate.hbm2ddl.auto", "update").buildSessionFactory();
	}

	List<?> bulk(String items) {
		List<Row> rows = Stream.of(items.split(" ")).map(Row::of).toList();
		factory.inTransaction(session -> rows.forEach(session::persist));
		return rows;
	}

	List<?> during(OffsetDateTime since, OffsetDateTime until) {
		return query("from Order o where function('comb_during' as Boolean, o.id, ?1, ?2) = true order by o.id", since, until);
	}

	// The newest orders, and page after page of them; the server's log has the plans
	static boolean newest() {
		factory.inTransaction(session -> session.createNativeMutationQuery("ALTER TABLE orders ADD CHECK (id <@ "
			+ "tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))").executeUpdate());
		List<UUID> expected = query("from Order o order by o.id desc").stream().map(row -> row.id).toList();
		List<UUID> paged = new ArrayList<>();
		factory.inSession(session -> {
			var orders = session.createSelectionQuery("from Order o", Row.class);
			for (var page = Page.first(3).keyedBy(List.of(org.hibernate.query.Order.desc(Row.class, "createdAt"),
					org.hibernate.query.Order.desc(Row.class, "id"))); page != null;) {
				var result = orders.getKeyedResultList(page);
				result.getResultList().forEach(row -> paged.add(row.id));
				page = result.getResultList().isEmpty() ? null : result.getNextPage();
			}
		});
		return expected.size() > 6 && paged.equals(expected) && factory.fromSession(session ->
			session.createSelectionQuery("from Order o order by o.createdAt desc", Row.class).setMaxResults(20).list()).stream()
				.map(row -> row.id).toList().equals(expected);
	}

	public static void main(String[] arguments) throws Exception {
		java.util.logging.LogManager.getLogManager().reset();
		test("a schema update makes the table, and nothing else", () -> {
			List<String> made = update();
			return made.size() == 3 && made.get(0).startsWith("create table orders (id uuid default comb_generate() not null")
				&& made.stream().skip(1).allMatch(statement -> statement.startsWith("alter table if exists orders "));
		});
		Orders orders = new Orders();
		orders.ways.put(", by @Formula", (text, values) ->
			query("from Order o where o.createdAt >= ?1 and o.createdAt < ?2 order by o.createdAt, o.id", values));
		orders.check();
		test("a second schema update is empty", () -> update().isEmpty());
		test("lists begin with the newest, and go on after the last", Orders::newest);
	}
}
