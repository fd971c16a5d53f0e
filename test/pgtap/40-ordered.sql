-- Properties of keys that increase across all sessions of the server
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;

SELECT plan(10);

CREATE TEMP TABLE million AS
SELECT n, comb_generate_ordered() AS id FROM generate_series(1, 1000000) n;

SELECT is(count(*), 0::bigint, 'a million keys, each larger than the one before')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM million) lagged
WHERE id <= before;
SELECT is(count(*), 0::bigint, 'all of version 7 and the RFC''s variant')
FROM million
WHERE substr(id::text, 15, 1) <> '7' OR substr(id::text, 20, 1) NOT IN ('8', '9', 'a', 'b');
SELECT is(count(DISTINCT right(id::text, 14)), 1000000::bigint,
          'the 56 random bits alone are different too')
FROM million;

-- keys have the clock's time; now() is the start of this transaction
SELECT cmp_ok(min(comb_timestamp(id)), '>=', date_trunc('milliseconds', now()), 'none is older than the transaction')
FROM million;
SELECT cmp_ok(ahead, '<', interval '1 second', 'and the last not ahead of the clock')
FROM comb_ordered_status() WHERE series = 'ordered';

-- keys increase whatever statement asks for a key
CREATE TEMP TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), n int);
INSERT INTO orders (n) SELECT generate_series(1, 1000);
INSERT INTO orders (n) VALUES (1001), (1002);
INSERT INTO orders VALUES (DEFAULT, 1003) ON CONFLICT (id) DO NOTHING;
PREPARE one_more(int) AS INSERT INTO orders (n) VALUES ($1);
EXECUTE one_more(1004);
EXECUTE one_more(1005);
DO $$ BEGIN INSERT INTO orders (n) VALUES (1006); END $$;
SAVEPOINT here;
SELECT comb_generate_ordered() AS forgotten \gset
ROLLBACK TO here;
INSERT INTO orders (n) VALUES (1007);
SELECT is(array_agg(n ORDER BY id), array_agg(n ORDER BY n), 'defaults of rows rise in their order')
FROM orders;
SELECT cmp_ok((SELECT id FROM orders WHERE n = 1007), '>', :'forgotten',
              'a key of a subtransaction that was rolled back does not come again');

-- the time agrees with the keys of comb_generate()
SELECT ok(abs(extract(epoch FROM comb_timestamp(comb_generate_ordered()) - comb_timestamp(comb_generate()))) < 1,
          'both generators have the same clock');

-- the lease ends at most pg_comb.lease_duration after the last key
SELECT cmp_ok(reserved_until, '>', last, 'the limit is beyond the last key')
FROM comb_ordered_status() WHERE series = 'ordered';
SELECT cmp_ok(reserved_until, '<=', last + current_setting('pg_comb.lease_duration')::interval,
              'by no more than pg_comb.lease_duration')
FROM comb_ordered_status() WHERE series = 'ordered';

SELECT finish();
ROLLBACK;
