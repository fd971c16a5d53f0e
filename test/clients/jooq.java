// jOOQ, with what its code generator makes of the schema: the package shop

import static org.jooq.impl.DSL.condition;
import static org.jooq.impl.DSL.excluded;
import static org.jooq.impl.DSL.val;
import static shop.Routines.combDuring;
import static shop.Routines.combTimestamp1;
import static shop.Tables.ORDERS;

import java.sql.DriverManager;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.jooq.exception.DataAccessException;
import org.jooq.impl.DSL;

import shop.tables.records.OrdersRecord;

class Orders extends Client {
	static DSLContext db;

	static List<Order> rows(Iterable<OrdersRecord> records) {
		List<Order> orders = new ArrayList<>();
		records.forEach(r -> orders.add(new Order(r.getId(), r.getNumber(), r.getItem(), r.getAmount(), r.getRef())));
		return orders;
	}

	Order insert(String item) {
		OrdersRecord order = db.newRecord(ORDERS);
		order.setItem(item);
		order.store();
		return find(db.select(ORDERS.NUMBER).from(ORDERS).where(ORDERS.ID.eq(order.getId())).fetchSingle().value1());
	}

	List<Order> bulk(List<String> items) {
		var insert = db.insertInto(ORDERS, ORDERS.ITEM);
		items.forEach(insert::values);
		return rows(insert.returning().fetch());
	}

	Order upsert(String item, int amount) {
		return rows(db.insertInto(ORDERS, ORDERS.ITEM, ORDERS.AMOUNT).values(item, amount)
			.onConflict(ORDERS.ITEM).doUpdate().set(ORDERS.AMOUNT, excluded(ORDERS.AMOUNT)).returning().fetch()).get(0);
	}

	OffsetDateTime time(UUID id) {
		return db.select(combTimestamp1(ORDERS.ID)).from(ORDERS).where(ORDERS.ID.eq(id)).fetchSingle().value1();
	}

	List<Order> between(OffsetDateTime since, OffsetDateTime until) {
		return rows(db.selectFrom(ORDERS).where(condition(combDuring(ORDERS.ID, val(since), val(until)))).orderBy(ORDERS.ID));
	}

	List<Order> during(OffsetDateTime since, OffsetDateTime until) {
		return rows(db.selectFrom(ORDERS)
			.where("comb_created({0}, tstzrange({1}, {2}))", ORDERS.ID, val(since), val(until)).orderBy(ORDERS.ID));
	}

	List<Order> page(UUID after, int size) {
		return rows(db.selectFrom(ORDERS).orderBy(ORDERS.ID).seek(after).limit(size));
	}

	Order find(long number) { return rows(db.selectFrom(ORDERS).where(ORDERS.NUMBER.eq(number))).get(0); }
	Order byText(String id) { return rows(db.selectFrom(ORDERS).where(ORDERS.ID.cast(String.class).eq(id))).get(0); }
	void fail() { db.fetch("SELECT comb_generate('sequential')"); }

	Told told(Exception e) {
		Told told = server(e);
		return new Told(((DataAccessException) e).sqlState(), told.hint());
	}

	public static void main(String[] arguments) throws Exception {
		showVersions("jooq", "postgresql");
		db = DSL.using(DriverManager.getConnection(url()), SQLDialect.POSTGRES);
		Orders orders = new Orders();
		orders.periods.put("two timestamps", orders::between);
		orders.periods.put("a range", orders::during);
		orders.check();
		done();
	}
}
