// The tables of drizzle.mjs, as Drizzle's users write them

import { sql } from 'drizzle-orm';
import { bigint, pgTable, text, uuid } from 'drizzle-orm/pg-core';

export const orders = pgTable('orders', {
	id: uuid().primaryKey().default(sql`comb_generate()`),
	number: bigint({ mode: 'bigint' }).notNull().default(sql`comb_snowflake()`),
	item: text().notNull().unique(),
	ref: uuid().notNull().default(sql`comb_generate('rtcomb_sql'::text)`),
});
