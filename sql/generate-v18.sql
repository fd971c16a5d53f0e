--
-- pg_comb beside the server's own uuidv7() and uuid_extract_timestamp()
--
-- The output shows no generated key: each comparison's alias states the answer.
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- comb_timestamp() reads the server's keys, of now and of other times, as the
-- server does
CREATE TABLE theirs AS
SELECT n, CASE WHEN n % 2 = 0 THEN uuidv7()
               ELSE uuidv7(make_interval(days => (random() * 3000000)::int - 15000)) END AS id
FROM generate_series(1, 20000) n;
SELECT count(*) = 20000 AS t,
       bool_and(comb_timestamp(id) = uuid_extract_timestamp(id)) AS t,
       bool_and(comb_time_decoder(id::text) = uuid_extract_timestamp(id)) AS t,
       max(comb_timestamp(id)) > '8000-01-01' AS t,
       min(comb_timestamp(id)) < '2000-01-01' AS t
FROM theirs;

-- the server reads our keys as comb_timestamp() does
CREATE TABLE ours AS
SELECT n, comb_generate() AS id FROM generate_series(1, 10000) n
UNION ALL
SELECT n, comb_at('1970-01-01'::timestamptz + n * interval '17 hours 3.141592 seconds')
FROM generate_series(0, 3000000, 300) n;
SELECT count(*) = 20001 AS t,
       bool_and(comb_timestamp(id) = uuid_extract_timestamp(id)) AS t,
       bool_and(uuid_extract_version(id) = 7) AS t
FROM ours;
SELECT bool_and(uuid_extract_timestamp(stamped) = comb_timestamp(stamped)) AS t,
       bool_and(comb_timestamp(stamped) = date_trunc('milliseconds', at)) AS t
FROM (SELECT at, comb_stamp(gen_random_uuid(), at) AS stamped
      FROM generate_series('1970-01-01'::timestamptz, '2300-01-01', '3 days 3.001 seconds') at) s;

-- our bounds hold for the server's keys too
SELECT bool_and(id BETWEEN comb_min(uuid_extract_timestamp(id))
                       AND comb_max(uuid_extract_timestamp(id))) AS t,
       bool_or(id < comb_min(uuid_extract_timestamp(id) - interval '1 microsecond')) AS f,
       bool_or(id > comb_max(uuid_extract_timestamp(id) + interval '1 microsecond')) AS f
FROM theirs;

-- a key made after one of our keys never reads as older, whoever made the key
SELECT bool_and(ours <= theirs) AS t
FROM (SELECT comb_timestamp(comb_generate()) AS ours, comb_timestamp(uuidv7()) AS theirs
      FROM generate_series(1, 10000)) turns;

-- a difference: the server also reads version 1, whose keys do not sort by their
-- times
SELECT id, uuid_extract_timestamp(id), comb_timestamp(id)
FROM (VALUES ('c232ab00-9414-11ec-b3c8-9f6bdeced846'::uuid),
             ('919108f7-52d1-4320-9bac-f847db4148a8'),
             ('00000000-0000-0000-0000-000000000000'),
             ('ffffffff-ffff-ffff-ffff-ffffffffffff')) AS others (id);

DROP TABLE theirs, ours;
