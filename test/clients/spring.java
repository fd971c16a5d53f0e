// Spring Data JDBC

import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.springframework.context.annotation.*;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.ReadOnlyProperty;
import org.springframework.data.jdbc.repository.config.AbstractJdbcConfiguration;
import org.springframework.data.jdbc.repository.config.EnableJdbcRepositories;
import org.springframework.data.jdbc.repository.query.Query;
import org.springframework.data.relational.core.mapping.Table;
import org.springframework.data.repository.ListCrudRepository;
import org.springframework.jdbc.core.namedparam.*;
import org.springframework.jdbc.datasource.*;
import org.springframework.transaction.PlatformTransactionManager;

class Orders extends Client {
	@Table("orders")
	public record Row(@Id UUID id, @ReadOnlyProperty Long number, String item, @ReadOnlyProperty UUID ref) {
		static Row of(String item) { return new Row(null, null, item, null); }
	}

	public interface Repository extends ListCrudRepository<Row, UUID> {
		@Query("SELECT * FROM orders WHERE comb_during(id, :since, :until) ORDER BY id")
		List<Row> during(OffsetDateTime since, OffsetDateTime until);
	}

	@Configuration
	@EnableJdbcRepositories(considerNestedRepositories = true)
	public static class Config extends AbstractJdbcConfiguration {
		@Bean public DataSource source() { return new DriverManagerDataSource(URL); }
		@Bean public NamedParameterJdbcOperations template(DataSource source) { return new NamedParameterJdbcTemplate(source); }
		@Bean public PlatformTransactionManager transactionManager(DataSource source) { return new DataSourceTransactionManager(source); }
	}

	// save() brings the key, and no other default.
	List<?> bulk(String items) {
		Repository repository = (Repository) mapper;
		return repository.saveAll(Stream.of(items.split(" ")).map(Row::of).toList()).stream()
			.map(row -> repository.findById(row.id()).get()).toList();
	}

	public static void main(String[] arguments) throws Exception {
		Orders orders = new Orders();
		orders.mapper = new AnnotationConfigApplicationContext(Config.class).getBean(Repository.class);
		orders.check();
	}
}
