// Spring Data JDBC

import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

import javax.sql.DataSource;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.ReadOnlyProperty;
import org.springframework.data.domain.Limit;
import org.springframework.data.jdbc.repository.config.AbstractJdbcConfiguration;
import org.springframework.data.jdbc.repository.config.EnableJdbcRepositories;
import org.springframework.data.jdbc.repository.query.Query;
import org.springframework.data.relational.core.mapping.Table;
import org.springframework.data.repository.ListCrudRepository;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcOperations;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.PlatformTransactionManager;

class Orders extends Client {
	@Table("orders")
	public record Row(@Id UUID id, @ReadOnlyProperty Long number, String item, int amount, @ReadOnlyProperty UUID ref) {
		static Row of(String item) { return new Row(null, null, item, 1, null); }
		Order order() { return new Order(id, number, item, amount, ref); }
	}

	public interface Repository extends ListCrudRepository<Row, UUID> {
		@Query("SELECT * FROM orders WHERE comb_during(id, :since, :until) ORDER BY id")
		List<Row> during(OffsetDateTime since, OffsetDateTime until);

		@Query("SELECT * FROM orders WHERE comb_created(id, :period::tstzrange) ORDER BY id")
		List<Row> created(String period);

		@Query("INSERT INTO orders (item, amount) VALUES (:item, :amount)"
			+ " ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *")
		Row upsert(String item, int amount);

		List<Row> findByIdGreaterThanOrderById(UUID after, Limit size);
		Row findByNumber(long number);
	}

	@Configuration
	@EnableJdbcRepositories(considerNestedRepositories = true)
	public static class Config extends AbstractJdbcConfiguration {
		@Bean public DataSource source() { return new DriverManagerDataSource(url()); }
		@Bean public NamedParameterJdbcOperations template(DataSource source) { return new NamedParameterJdbcTemplate(source); }
		@Bean public PlatformTransactionManager transactionManager(DataSource source) { return new DataSourceTransactionManager(source); }
	}

	NamedParameterJdbcOperations template;
	Repository repository;

	static List<Order> of(List<Row> rows) { return rows.stream().map(Row::order).toList(); }

	// save() brings the key, and no other column.
	Order insert(String item) {
		Row row = repository.save(Row.of(item));
		return repository.findById(row.id()).get().order();
	}

	List<Order> bulk(List<String> items) {
		return repository.saveAll(items.stream().map(Row::of).toList()).stream()
			.map(row -> repository.findById(row.id()).get().order()).toList();
	}

	Order upsert(String item, int amount) { return repository.upsert(item, amount).order(); }

	OffsetDateTime time(UUID id) {
		return template.getJdbcOperations().queryForObject("SELECT comb_timestamp(?)", OffsetDateTime.class, id);
	}

	List<Order> page(UUID after, int size) { return of(repository.findByIdGreaterThanOrderById(after, Limit.of(size))); }
	Order find(long number) { return repository.findByNumber(number).order(); }
	Order byText(String id) { return repository.findById(UUID.fromString(id)).get().order(); }
	void fail() { template.getJdbcOperations().queryForObject("SELECT comb_generate('sequential')", UUID.class); }
	Told told(Exception e) { return server(e); }

	public static void main(String[] arguments) throws Exception {
		showVersions("spring-data-jdbc", "postgresql");
		var context = new AnnotationConfigApplicationContext(Config.class);
		Orders orders = new Orders();
		orders.template = context.getBean(NamedParameterJdbcOperations.class);
		orders.repository = context.getBean(Repository.class);
		orders.template.getJdbcOperations().execute(migration());
		orders.periods.put("two timestamps", (since, until) -> of(orders.repository.during(since, until)));
		orders.periods.put("a range", (since, until) -> of(orders.repository.created("[" + since + "," + until + ")")));
		orders.check();
		done();
	}
}
