// jOOQ, with what its code generator makes of the schema: the package shop

import static org.jooq.impl.DSL.condition;
import static org.jooq.impl.DSL.excluded;
import static org.jooq.impl.DSL.val;
import static shop.Routines.combDuring;
import static shop.Routines.combTimestamp1;
import static shop.Tables.ORDERS;

import java.sql.DriverManager;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

import org.jooq.DSLContext;
import org.jooq.Result;
import org.jooq.SQLDialect;
import org.jooq.exception.DataAccessException;
import org.jooq.impl.DSL;

import shop.tables.records.OrdersRecord;

class Orders extends Client {
	DSLContext jooq;

	static List<?> rows(Result<?> records) { return records.intoMaps(); }

	// The code generator had the table before.
	List<?> table() { return List.of(); }

	List<?> insert(String item) {
		OrdersRecord order = jooq.newRecord(ORDERS);
		order.setItem(item);
		order.store();
		return rows(jooq.selectFrom(ORDERS).where(ORDERS.ID.eq(order.getId())).fetch());
	}

	List<?> bulk(String items) {
		var insert = jooq.insertInto(ORDERS, ORDERS.ITEM);
		for (String item : items.split(" "))
			insert.values(item);
		return rows(insert.returning().fetch());
	}

	List<?> upsert(String item, int amount) {
		return rows(jooq.insertInto(ORDERS, ORDERS.ITEM, ORDERS.AMOUNT).values(item, amount)
			.onConflict(ORDERS.ITEM).doUpdate().set(ORDERS.AMOUNT, excluded(ORDERS.AMOUNT)).returning().fetch());
	}

	List<?> time(UUID id) {
		return rows(jooq.select(ORDERS.ITEM, combTimestamp1(ORDERS.ID).as("created")).from(ORDERS).where(ORDERS.ID.eq(id)).fetch());
	}

	List<?> during(OffsetDateTime since, OffsetDateTime until) {
		DSLContext db = jooq;
		return rows(
			db.selectFrom(ORDERS).where(condition(combDuring(ORDERS.ID, val(since), val(until)))).orderBy(ORDERS.ID)
			.fetch());
	}

	List<?> created(OffsetDateTime since, OffsetDateTime until) {
		return rows(jooq.selectFrom(ORDERS)
			.where("comb_created({0}, tstzrange({1}, {2}))", ORDERS.ID, val(since), val(until)).orderBy(ORDERS.ID).fetch());
	}

	List<?> page(UUID after, int size) {
		return rows(jooq.selectFrom(ORDERS).orderBy(ORDERS.ID).seek(after).limit(size).fetch());
	}

	List<?> find(UUID id, long number) {
		return rows(jooq.selectFrom(ORDERS).where(ORDERS.ID.eq(id).and(ORDERS.NUMBER.eq(number))).fetch());
	}

	List<?> error() { return jooq.fetch("SELECT comb_generate('sequential')"); }

	Told told(Throwable e) {
		while (!(e instanceof DataAccessException told))
			e = e.getCause();
		return new Told(told.sqlState(), super.told(e).hint());
	}

	public static void main(String[] arguments) throws Exception {
		showVersions("jooq", "postgresql");
		Orders orders = new Orders();
		orders.db = DriverManager.getConnection(url());
		orders.jooq = DSL.using(orders.db, SQLDialect.POSTGRES);
		orders.check();
		done();
	}
}
