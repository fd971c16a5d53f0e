--
-- pg_comb beside the server's own uuid_extract_timestamp(), which reads version 6 from
-- 20 on
--
SELECT count(*) AS "3000", bool_and(uuid_extract_timestamp(id) = comb_timestamp(id, layout)) AS t,
       bool_and(comb_timestamp(id, layout) = at) AS t
FROM (SELECT layout, at, comb_stamp(md5(layout || n::text)::uuid, at, layout) AS id
      FROM unnest('{uuidv1, uuidv6, uuidv7}'::text[]) layout, generate_series(0, 999) n,
           LATERAL (SELECT timestamptz '1970-01-01 00:00:00.123+00' + n * interval '1193 days 01:02:03.004') t (at)) s;
-- the layouts begin before 1970, and version 6 counts 100 ns
SELECT uuid_extract_timestamp(id) = comb_timestamp(id, 'uuidv6') AS t, comb_timestamp(id, 'uuidv6') AT TIME ZONE 'UTC' AS at
FROM unnest('{00000000-0000-6000-8000-000000000000, 00000000-0000-600a-8000-000000000000,
              1ec9414c-232a-6b00-b3c8-9f6bdeced846, ffffffff-ffff-6ff0-bfff-ffffffffffff}'::uuid[]) id;
