// Shared by the programs in this directory

import { readFileSync } from 'node:fs';

// test/clients/run sets libpq's variables.
export const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: user } = process.env;

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// assert.match() would show the key.
export function isKey(value) {
	return uuidv7.test(value);
}

// The runner copies the versions from this line into its table.
export function showVersions(...packages) {
	const versions = packages.map((name) => {
		const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
		return `${name} ${JSON.parse(readFileSync(file)).version}`;
	});
	console.log(`# versions: ${versions.join(', ')}`);
}
