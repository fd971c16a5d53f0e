// MyBatis: a mapper with annotations

import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

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

		@Select("SELECT comb_timestamp(#{id})")
		OffsetDateTime time(UUID id);

		@Select("SELECT * FROM orders WHERE comb_during(id, #{since}, #{until}) ORDER BY id")
		List<Order> during(@Param("since") OffsetDateTime since, @Param("until") OffsetDateTime until);

		@Select("SELECT * FROM orders WHERE comb_created(id, #{period}::tstzrange) ORDER BY id")
		List<Order> created(String period);

		@Select("SELECT * FROM orders WHERE id > #{after} ORDER BY id LIMIT #{size}")
		List<Order> page(@Param("after") UUID after, @Param("size") int size);

		@Select("SELECT * FROM orders WHERE number = #{number}")
		Order find(long number);

		@Select("SELECT * FROM orders WHERE id = #{id}::uuid")
		Order byText(String id);

		@Select("SELECT comb_generate('sequential')")
		UUID fail();
	}

	Mapper mapper;

	Orders(Mapper mapper) { this.mapper = mapper; }

	Order insert(String item) {
		Row row = new Row(item);
		mapper.insert(row);
		return mapper.byText(row.id.toString());
	}

	List<Order> bulk(List<String> items) {
		List<Row> rows = items.stream().map(Row::new).toList();
		mapper.bulk(rows);
		return rows.stream().map(row -> mapper.byText(row.id.toString())).toList();
	}

	Order upsert(String item, int amount) { return mapper.upsert(item, amount); }
	OffsetDateTime time(UUID id) { return mapper.time(id); }
	List<Order> page(UUID after, int size) { return mapper.page(after, size); }
	Order find(long number) { return mapper.find(number); }
	Order byText(String id) { return mapper.byText(id); }
	void fail() { mapper.fail(); }
	Told told(Exception e) { return server(e); }

	public static void main(String[] arguments) throws Exception {
		showVersions("mybatis");
		Configuration configuration = new Configuration(new Environment("test", new JdbcTransactionFactory(),
			new UnpooledDataSource("org.postgresql.Driver", url(), null)));
		configuration.setArgNameBasedConstructorAutoMapping(true);
		configuration.getTypeHandlerRegistry().register(UUID.class, new UUIDHandler());
		configuration.addMapper(Mapper.class);
		SqlSession session = new SqlSessionFactoryBuilder().build(configuration).openSession(true);
		session.getConnection().createStatement().execute(migration());
		Orders orders = new Orders(session.getMapper(Mapper.class));
		orders.periods.put("two timestamps", orders.mapper::during);
		orders.periods.put("a range", (since, until) -> orders.mapper.created("[" + since + "," + until + ")"));
		orders.check();
		done();
	}
}
