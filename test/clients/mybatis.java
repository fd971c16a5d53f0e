// MyBatis: a mapper with annotations

import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import org.apache.ibatis.annotations.*;
import org.apache.ibatis.datasource.unpooled.UnpooledDataSource;
import org.apache.ibatis.mapping.Environment;
import org.apache.ibatis.session.Configuration;
import org.apache.ibatis.session.SqlSessionFactoryBuilder;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;
import org.apache.ibatis.type.ObjectTypeHandler;

class Orders extends Client {
	public static class Row {
		public UUID id;
		public Long number;
		public String item;

		public Row() { }
		Row(String item) { this.item = item; }
	}

	public interface Mapper {
		@Insert("<script>INSERT INTO orders (item) VALUES <foreach item='row' collection='list' separator=','>(#{row.item})</foreach></script>")
		@Options(useGeneratedKeys = true, keyProperty = "id")
		void insertAll(@Param("list") List<Row> rows);

		@Select("SELECT * FROM orders WHERE comb_during(id, #{since}, #{until}) ORDER BY id")
		List<Row> during(@Param("since") OffsetDateTime since, @Param("until") OffsetDateTime until);

		@Select("SELECT * FROM orders WHERE id = #{id}")
		Row get(UUID id);
	}

	List<?> bulk(String items) {
		List<Row> rows = Stream.of(items.split(" ")).map(Row::new).toList();
		((Mapper) mapper).insertAll(rows);
		return rows.stream().map(row -> ((Mapper) mapper).get(row.id)).toList();
	}

	public static void main(String[] arguments) throws Exception {
		Configuration configuration = new Configuration(new Environment("test", new JdbcTransactionFactory(),
			new UnpooledDataSource("org.postgresql.Driver", URL, null)));
		// MyBatis has no handler for UUID.
		configuration.getTypeHandlerRegistry().register(UUID.class, ObjectTypeHandler.class);
		configuration.addMapper(Mapper.class);
		Orders orders = new Orders();
		orders.mapper = new SqlSessionFactoryBuilder().build(configuration).openSession(true).getMapper(Mapper.class);
		orders.check();
	}
}
