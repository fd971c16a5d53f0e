// Prisma: its client with the adapter for pg
//
// The client is generated here, and the table made by SQL: the commands "migrate" and
// "db" of Prisma download a program, which this test does not.

import { execFileSync } from 'node:child_process';

import { PrismaPg } from '@prisma/adapter-pg';

import { checkClient, database, host, user } from './common.mjs';

// "generate" looks for the same program, and does not use it.
execFileSync('node_modules/.bin/prisma', ['generate'], {
	env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
	stdio: ['ignore', 'ignore', 'inherit'],
});
const { PrismaClient } = await import('./prisma/client/client.js');
const prisma = new PrismaClient({ adapter: new PrismaPg({ host, database, user, options: '-c timezone=UTC' }) });

checkClient({
	query: (text, values) => prisma.$queryRawUnsafe(text, ...values),
	insert: (data) => prisma.order.createManyAndReturn({ data }),
	during(since, until) {
		return prisma.$queryRaw`SELECT * FROM orders
			WHERE comb_during(id, ${since}, ${until}) ORDER BY id`;
	},
	told: (error) => error.meta.driverAdapterError.cause,
	bigint: 'bigint',
});
