// MyBatis: a mapper with annotations

import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Options;
import org.apache.ibatis.annotations.Param;
import org.apache.ibatis.annotations.Select;
import org.apache.ibatis.datasource.unpooled.UnpooledDataSource;
import org.apache.ibatis.mapping.Environment;
import org.apache.ibatis.session.Configuration;
import org.apache.ibatis.session.SqlSessionFactoryBuilder;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;
import org.apache.ibatis.type.BaseTypeHandler;
import org.apache.ibatis.type.JdbcType;

class Orders extends Client {
	public record Order(UUID id, long number, String item, int amount, UUID ref) { }

	public static class Row {
		public UUID id;
		public String item;

		public Row(String item) { this.item = item; }
	}

	// MyBatis has no handler for UUID.
	public static class UUIDHandler extends BaseTypeHandler<UUID> {
		public void setNonNullParameter(PreparedStatement s, int i, UUID id, JdbcType type) throws SQLException { s.setObject(i, id); }
		public UUID getNullableResult(ResultSet r, String column) throws SQLException { return r.getObject(column, UUID.class); }
		public UUID getNullableResult(ResultSet r, int column) throws SQLException { return r.getObject(column, UUID.class); }
		public UUID getNullableResult(CallableStatement s, int column) throws SQLException { return s.getObject(column, UUID.class); }
	}

	public interface Mapper {
		@Insert("<script>INSERT INTO orders (item) VALUES <foreach item='row' collection='list' separator=','>(#{row.item})</foreach></script>")
		@Options(useGeneratedKeys = true, keyProperty = "id")
		void insertAll(@Param("list") List<Row> rows);

		@Select("SELECT * FROM orders WHERE comb_during(id, #{since}, #{until}) ORDER BY id")
		List<Order> during(@Param("since") OffsetDateTime since, @Param("until") OffsetDateTime until);

		@Select("SELECT * FROM orders WHERE id > #{after} ORDER BY id LIMIT #{size}")
		List<Order> page(@Param("after") UUID after, @Param("size") int size);

		@Select("SELECT * FROM orders WHERE id = #{id}")
		Order get(UUID id);

		@Select("SELECT comb_generate('sequential')")
		UUID error();
	}

	List<?> bulk(String items) {
		List<Row> rows = Stream.of(items.split(" ")).map(Row::new).toList();
		((Mapper) mapper).insertAll(rows);
		return rows.stream().map(row -> ((Mapper) mapper).get(row.id)).toList();
	}

	List<?> insert(String item) { return bulk(item); }

	public static void main(String[] arguments) throws Exception {
		showVersions("mybatis");
		Configuration configuration = new Configuration(new Environment("test", new JdbcTransactionFactory(),
			new UnpooledDataSource("org.postgresql.Driver", URL, null)));
		configuration.setArgNameBasedConstructorAutoMapping(true);
		configuration.getTypeHandlerRegistry().register(UUID.class, new UUIDHandler());
		configuration.addMapper(Mapper.class);
		Orders orders = new Orders();
		orders.mapper = new SqlSessionFactoryBuilder().build(configuration).openSession(true).getMapper(Mapper.class);
		orders.check();
	}
}
