-- What each client must show, for the runner of its language: common.mjs, python/common.py ...
--
-- A statement stands between its name with a test's title and the answer: the column "item" of
-- each row, or SQLSTATE and hint (up to its comma) of an error.  $name is a parameter, and
-- $[a,b) the client's own range of two.  Their values are the columns of this name in the last
-- row of the statements before, in the types that the client made of them.  So SQL compares, and
-- a value that lost a digit, a microsecond or its zone finds no row.  $clock is the client's own time:
-- a client that lost the zone of a time twice would find its rows.
--
-- A client that has a function of the statement's name calls it in the statement's place, with the
-- same values: query builders and mappers so show their own form, drivers their COPY.

-- table: the table
CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))
-->

-- values: values in the client's types
SELECT 'ready' AS item, 'bread' AS bread, 'salt oil rice tea milk' AS others, 'flour yeast' AS more,
	now() - interval '1 minute' AS since, now() + interval '1 minute' AS until,
	now() - interval '1 hour' AS old, '00000000-0000-0000-0000-000000000000'::uuid AS nil,
	4::bigint AS size
--> ready

-- insert: an insert gives the row back
INSERT INTO orders (item) VALUES ($bread) RETURNING *
--> bread

-- find: a key and a Snowflake keep their digits
SELECT * FROM orders WHERE id = $id AND number = $number
--> bread

-- layout: a DEFAULT with a layout makes its keys
SELECT item, id AS first, id::text AS text FROM orders
WHERE ref = $ref AND comb_timestamp(ref, 'rtcomb_sql') BETWEEN $since AND $until
--> bread

-- text: a key as text finds its row
SELECT item FROM orders WHERE id = $text
--> bread

-- time: the key has the time
SELECT item, comb_timestamp(id) AS created FROM orders WHERE id = $id
--> bread

-- now: the time keeps its zone and its digits
SELECT item, comb_timestamp(id) + interval '1 ms' AS next FROM orders
WHERE id = $first AND comb_timestamp(id) = $created
	AND abs(extract(epoch FROM comb_timestamp(id) - $clock)) < 60
--> bread

-- during: a period by two timestamps has its begin
SELECT * FROM orders WHERE comb_during(id, $created, $next) ORDER BY id
--> bread

-- created: a period by a range has its begin
SELECT * FROM orders WHERE comb_created(id, $[created,next)) ORDER BY id
--> bread

-- created: and not its end
SELECT * FROM orders WHERE comb_created(id, $[old,created)) ORDER BY id
-->

-- bulk: several rows by one statement
INSERT INTO orders (item) SELECT unnest(string_to_array($others, ' ')) RETURNING *
--> salt oil rice tea milk

-- bulked: the last of them has its own key and Snowflake
SELECT item FROM orders WHERE id = $id AND number = $number
--> milk

-- during: a period by two timestamps, in order
SELECT * FROM orders WHERE comb_during(id, $since, $until) ORDER BY id
--> bread salt oil rice tea milk

-- created: a period by a range, in order
SELECT * FROM orders WHERE comb_created(id, $[since,until)) ORDER BY id
--> bread salt oil rice tea milk

-- page: a page by the key
SELECT * FROM orders WHERE id > $nil ORDER BY id LIMIT $size
--> bread salt oil rice

-- page: the next page
SELECT * FROM orders WHERE id > $id ORDER BY id LIMIT $size
--> tea milk

-- copy: COPY, or an insert without RETURNING
INSERT INTO orders (item) SELECT unnest(string_to_array($more, ' '))
-->

-- page: each in a row of its own, and their keys are in order, too
SELECT * FROM orders WHERE id > $id ORDER BY id LIMIT $size
--> flour yeast

-- error: an error has its SQLSTATE and hint
SELECT comb_generate('sequential')
--> 22023 Perhaps you meant the layout "sequential_end".  comb_layouts() lists the layouts.
