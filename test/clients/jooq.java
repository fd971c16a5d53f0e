// jOOQ, with what its code generator makes of the schema: the package shop

import static org.jooq.impl.DSL.condition;
import static org.jooq.impl.DSL.val;
import static shop.Routines.combDuring;
import static shop.Routines.combTimestamp1;
import static shop.Tables.ORDERS;

import java.sql.DriverManager;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.jooq.impl.DSL;

class Orders extends Client {
	DSLContext jooq;

	// The code generator had the table before.
	void table() { }

	List<?> bulk(String items) {
		var insert = jooq.insertInto(ORDERS, ORDERS.ITEM);
		for (String item : items.split(" "))
			insert.values(item);
		return insert.returning().fetch().intoMaps();
	}

	List<?> time(UUID id) {
		return jooq.select(ORDERS.ITEM, combTimestamp1(ORDERS.ID).as("created")).from(ORDERS).where(ORDERS.ID.eq(id)).fetch().intoMaps();
	}

	List<?> during(OffsetDateTime since, OffsetDateTime until) {
		DSLContext db = jooq;
		return
			db.selectFrom(ORDERS).where(condition(combDuring(ORDERS.ID, val(since), val(until)))).orderBy(ORDERS.ID)
			.fetch().intoMaps();
	}

	public static void main(String[] arguments) throws Exception {
		Orders orders = new Orders();
		orders.jooq = DSL.using(DriverManager.getConnection(URL), SQLDialect.POSTGRES);
		orders.check();
	}
}
