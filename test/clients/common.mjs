// The runner of statements.sql for Node.js
//
// A program gives checkClient() these, and functions in place of statements, which return rows:
//   query(text, values)   runs a statement, and returns its rows
//   place(n)              is its form of the nth parameter
//   ways                  has more forms of query() for a period by two timestamps
//   told(error)           returns the SQLSTATE and the hint as { code, hint }
//   bigint                is the JavaScript type of 64-bit numbers
//   insert(rows)          takes [{ item }, ...], and stands in for the statement bulk, too

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

// test/run sets libpq's variables.
export const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: user } = process.env;

const parts = /^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$/mg;

// No client for Node.js has a type for ranges: this is the form that PostgreSQL reads.  Drizzle and
// MikroORM leave the times of raw queries as texts.
function range(since, until) {
	return `[${new Date(since).toISOString()},${new Date(until).toISOString()})`;
}

export function checkClient({
	query, place = (n) => `$${n}`, ways = {}, told = (error) => error, bigint = 'string', insert, ...own
}) {
	const known = { clock: new Date() };
	if (insert) own.insert = own.bulk = (items) => insert(items.split(' ').map((item) => ({ item })));

	for (const [, name, title, statement, expected] of readFileSync('statements.sql', 'utf8').matchAll(parts)) {
		// A raw query of a mapper may give another type.
		const types = { number: [bigint, own[name] ? bigint : 'string'], created: ['object'] };
		const run = (query) => async () => {
			const [names, values] = [[], []];
			const text = statement.replace(/\$(?:(\w+)|\[(\w+),(\w+)\))/g, (_, one, since, until) => {
				names.push(...one ? [one] : [since, until]);
				values.push(one ? known[one] : range(known[since], known[until]));
				return place(values.length);
			});
			let answer, rows = [];
			try {
				rows = await (own[name] ? own[name](...names.map((name) => known[name])) : query(text, values)) ?? [];
				answer = [...rows].map((row) => row.item).join(' ');
			} catch (error) {
				const { code, hint } = told(error) ?? {};
				if (!hint) throw error;
				answer = `${code} ${hint.split(',')[0]}`;
			}
			assert.equal(answer, expected.trim());
			const last = rows.at?.(-1);
			for (const [column, value] of Object.entries(last?.get?.() ?? last ?? {})) {
				assert.ok(types[column]?.includes(typeof value) ?? true, `${column} is ${typeof value}`);
				known[column] = value;
			}
		};
		test(title, run(query));
		if (name === 'during')
			for (const [way, query] of Object.entries(ways)) test(`${title}, ${way}`, run(query));
	}
}
