// The runner of statements.sql for Node.js
//
// A program gives checkClient() these, and functions in place of statements, which return rows:
//   query(text, values)   runs a statement, and returns its rows
//   place(n)              is its form of the nth parameter
//   ways                  has more forms of query() for a period by two timestamps
//   told(error)           returns the SQLSTATE and the hint as { code, hint }
//   bigint                is the JavaScript type of 64-bit numbers

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

// test/run sets libpq's variables.
export const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: user } = process.env;

// The runner copies the versions from this line into its table.
export function showVersions(...packages) {
	const versions = packages.map((name) => {
		const file = [`node_modules/${name}`, `prisma/node_modules/${name}`]
			.map((directory) => new URL(`${directory}/package.json`, import.meta.url)).find(existsSync);
		return `${name} ${JSON.parse(readFileSync(file)).version}`;
	});
	console.log(`# versions: ${versions.join(', ')}`);
}

// No client for Node.js has a type for ranges: this is the form that PostgreSQL reads.  Drizzle and
// MikroORM leave the times of raw queries as texts.
export function range(since, until) {
	return `[${new Date(since).toISOString()},${new Date(until).toISOString()})`;
}

export function checkClient({ query, place = (n) => `$${n}`, ways = {}, told = (error) => error, bigint = 'string', ...own }) {
	const types = { number: bigint, created: 'object' };
	const known = { clock: new Date() };
	const statements = readFileSync(new URL('statements.sql', import.meta.url), 'utf8')
		.matchAll(/^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$/mg);

	for (const [, name, title, statement, expected] of statements) {
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
				assert.ok(!(column in types) || typeof value === types[column], `${column} is ${typeof value}`);
				known[column] = value;
			}
		};
		test(title, run(query));
		if (name === 'during')
			for (const [way, query] of Object.entries(ways)) test(`${title}, ${way}`, run(query));
	}
}
