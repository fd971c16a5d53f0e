import { defineConfig } from 'drizzle-kit';

const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: user } = process.env;

export default defineConfig({
	dialect: 'postgresql',
	schema: './schema.mjs',
	out: './out',
	dbCredentials: { host, port: Number(port), database, user, ssl: false },
});
