// Hibernate: entities, HQL, and its schema update

import java.io.StringWriter;
import java.sql.DriverManager;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

import org.hibernate.SessionFactory;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.Generated;
import org.hibernate.cfg.Configuration;
import org.hibernate.JDBCException;

class Orders extends Client {
	@Entity(name = "Order")
	@Table(name = "orders")
	public static class Row {
		@Id @Generated @ColumnDefault("comb_generate()") public UUID id;
		@Generated @Column(nullable = false) @ColumnDefault("comb_snowflake()") public long number;
		@Column(nullable = false, unique = true, columnDefinition = "text") public String item;
		@Column(nullable = false) @ColumnDefault("1") public int amount = 1;
		@Generated @Column(nullable = false) @ColumnDefault("comb_generate('rtcomb_sql')") public UUID ref;
	}

	public record Created(String item, OffsetDateTime created) { }

	static SessionFactory factory;

	static Configuration configuration() {
		return new Configuration().addAnnotatedClass(Row.class)
			.setProperty("hibernate.connection.url", url());
	}

	// What a schema update would do
	static String update() throws Exception {
		StringWriter script = new StringWriter();
		Configuration configuration = configuration();
		configuration.getProperties().put("jakarta.persistence.schema-generation.scripts.action", "update");
		configuration.getProperties().put("jakarta.persistence.schema-generation.scripts.create-target", script);
		configuration.buildSessionFactory().close();
		return script.toString().strip();
	}

	static <T> List<T> query(Class<T> type, String query, Object... values) {
		return factory.fromSession(session -> {
			var selection = session.createSelectionQuery(query, type);
			for (int i = 0; i < values.length; i++)
				selection.setParameter(i + 1, values[i]);
			return selection.list();
		});
	}

	static List<Row> query(String query, Object... values) { return query(Row.class, query, values); }

	List<?> table() {
		factory = configuration().setProperty("hibernate.hbm2ddl.auto", "update").buildSessionFactory();
		return List.of();
	}

	List<?> bulk(String items) {
		List<Row> rows = Stream.of(items.split(" ")).map(item -> {
			Row row = new Row();
			row.item = item;
			return row;
		}).toList();
		factory.inTransaction(session -> rows.forEach(session::persist));
		return rows;
	}

	List<?> insert(String item) { return bulk(item); }

	List<?> upsert(String item, int amount) {
		factory.inTransaction(session -> session.createMutationQuery(
			"insert into Order (item, amount) values (?1, ?2) on conflict (item) do update set amount = excluded.amount")
			.setParameter(1, item).setParameter(2, amount).executeUpdate());
		return query("from Order where item = ?1", item);
	}

	List<?> time(UUID id) {
		return query(Created.class, "select o.item, cast(comb_timestamp(o.id) as OffsetDateTime) from Order o where o.id = ?1", id);
	}

	List<?> during(OffsetDateTime since, OffsetDateTime until) {
		return query("from Order o where function('comb_during' as Boolean, o.id, ?1, ?2) = true order by o.id", since, until);
	}

	List<?> created(OffsetDateTime since, OffsetDateTime until) {
		return query("from Order o where function('comb_created' as Boolean, o.id, tstzrange(?1, ?2)) = true order by o.id", since, until);
	}

	List<?> page(UUID after, int size) { return query("from Order o where o.id > ?1 order by o.id limit ?2", after, size); }
	List<?> find(UUID id, long number) { return query("from Order where id = ?1 and number = ?2", id, number); }

	List<?> error() {
		return factory.fromSession(session -> session.createNativeQuery("SELECT comb_generate('sequential')", UUID.class).list());
	}

	Told told(Throwable e) {
		while (!(e instanceof JDBCException told))
			e = e.getCause();
		return new Told(told.getSQLState(), super.told(e).hint());
	}

	public static void main(String[] arguments) throws Exception {
		showVersions("hibernate-core", "postgresql");
		java.util.logging.LogManager.getLogManager().reset();
		Orders orders = new Orders();
		orders.db = DriverManager.getConnection(url());
		test("a schema update makes the table, and nothing else", () -> {
			List<String> made = update().lines().toList();
			return made.size() == 3 && made.get(0).startsWith("create table orders (id uuid default comb_generate() not null")
				&& made.stream().skip(1).allMatch(statement -> statement.startsWith("alter table if exists orders "));
		});
		orders.check();
		test("a second schema update is empty", () -> update().isEmpty());
		done();
	}
}
