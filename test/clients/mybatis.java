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
import org.apache.ibatis.session.SqlSession;
import org.apache.ibatis.session.SqlSessionFactoryBuilder;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;
import org.apache.ibatis.type.BaseTypeHandler;
import org.apache.ibatis.type.JdbcType;

class Orders extends Client {
	public record Order(UUID id, long number, String item, int amount, UUID ref) { }

	public record Created(String item, OffsetDateTime created) { }

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
		@Insert("INSERT INTO orders (item) VALUES (#{item})")
		@Options(useGeneratedKeys = true, keyProperty = "id")
		void insert(Row row);

		@Insert("<script>INSERT INTO orders (item) VALUES <foreach item='row' collection='list' separator=','>(#{row.item})</foreach></script>")
		@Options(useGeneratedKeys = true, keyProperty = "id")
		void bulk(@Param("list") List<Row> rows);

		@Select(value = "INSERT INTO orders (item, amount) VALUES (#{item}, #{amount})"
			+ " ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *", affectData = true)
		Order upsert(@Param("item") String item, @Param("amount") int amount);

		@Select("SELECT item, comb_timestamp(id) AS created FROM orders WHERE id = #{id}")
		Created time(UUID id);

		@Select("SELECT * FROM orders WHERE comb_during(id, #{since}, #{until}) ORDER BY id")
		List<Order> during(@Param("since") OffsetDateTime since, @Param("until") OffsetDateTime until);

		@Select("SELECT * FROM orders WHERE comb_created(id, tstzrange(#{since}, #{until})) ORDER BY id")
		List<Order> created(@Param("since") OffsetDateTime since, @Param("until") OffsetDateTime until);

		@Select("SELECT * FROM orders WHERE id > #{after} ORDER BY id LIMIT #{size}")
		List<Order> page(@Param("after") UUID after, @Param("size") int size);

		@Select("SELECT * FROM orders WHERE id = #{id} AND number = #{number}")
		Order find(@Param("id") UUID id, @Param("number") long number);

		@Select("SELECT * FROM orders WHERE id = #{id}::uuid")
		Order text(String id);

		@Select("SELECT comb_generate('sequential')")
		UUID error();
	}

	Mapper orders;

	List<?> bulk(String items) {
		List<Row> rows = Stream.of(items.split(" ")).map(Row::new).toList();
		orders.bulk(rows);
		return rows.stream().map(row -> orders.text(row.id.toString())).toList();
	}

	List<?> insert(String item) {
		Row row = new Row(item);
		orders.insert(row);
		return List.of(orders.text(row.id.toString()));
	}

	public static void main(String[] arguments) throws Exception {
		showVersions("mybatis");
		Configuration configuration = new Configuration(new Environment("test", new JdbcTransactionFactory(),
			new UnpooledDataSource("org.postgresql.Driver", url(), null)));
		configuration.setArgNameBasedConstructorAutoMapping(true);
		configuration.getTypeHandlerRegistry().register(UUID.class, new UUIDHandler());
		configuration.addMapper(Mapper.class);
		SqlSession session = new SqlSessionFactoryBuilder().build(configuration).openSession(true);
		Orders program = new Orders();
		program.db = session.getConnection();
		program.mapper = program.orders = session.getMapper(Mapper.class);
		program.check();
		done();
	}
}
