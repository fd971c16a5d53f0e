-- What is wrong in a client's database afterwards, one line each.  Nothing is right.

-- No tool wrote anything of the extension into a migration, to be made again beside it.
WITH mine AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
SELECT 'not of the extension: ' || pg_describe_object(classid, oid, 0)
FROM (SELECT 'pg_class'::regclass AS classid, oid, relname AS name FROM pg_class
	UNION ALL SELECT 'pg_proc'::regclass, oid, proname FROM pg_proc
	UNION ALL SELECT 'pg_type'::regclass, oid, typname FROM pg_type
	UNION ALL SELECT 'pg_namespace'::regclass, oid, nspname FROM pg_namespace) object
WHERE name ~ '^comb_' AND (classid, oid) NOT IN (SELECT * FROM mine)
	AND (classid, oid) NOT IN (SELECT 'pg_class'::regclass, indexrelid FROM pg_index);

-- The table of orders has the defaults, whose words the tool chose.
WITH wanted (attname, type, expression) AS (VALUES ('id', 'uuid', 'comb_generate()'),
	('number', 'bigint', 'comb_snowflake()'), ('ref', 'uuid', $$comb_generate('rtcomb_sql'::text)$$))
SELECT format('%s: %s %s of %s', attname, type, coalesce(expression, 'without a default'), orders)
FROM (SELECT oid::regclass AS orders FROM pg_class WHERE relname IN ('orders', 'shop_order') AND relkind = 'r') t, wanted
WHERE NOT EXISTS (SELECT FROM pg_attribute a JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
	WHERE attrelid = orders AND a.attname = wanted.attname AND attnotnull
		AND format_type(atttypid, NULL) = type AND pg_get_expr(adbin, adrelid) = expression);
