--
-- Reading, stamping and bounding keys (comb_layout.c), and comb_at's errors
--
-- The times and keys given here are fixed, so the output shows the results.
-- New keys are only compared.
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
\set SHOW_CONTEXT never

--
-- comb_timestamp
--

-- keys that others published, each with its published time
SELECT id, source, comb_timestamp(id) = created AS t
FROM (VALUES
  ('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::uuid, '2022-02-22 19:22:22+00'::timestamptz, 'RFC 9562, A.6'),
  ('018570bb-4a7d-7c7e-8df4-6d47afd8c8fc', '2023-01-02 04:26:40.637+00', 'pg_uuidv7, README'),
  ('018570bb-4a7d-7630-a5c4-89b795024c5d', '2023-01-02 04:26:40.637+00', 'pg_uuidv7, README'),
  ('018570bb-4a7d-7000-8000-000000000000', '2023-01-02 04:26:40.637+00', 'pg_uuidv7, tests'),
  ('00000000-0000-7a9f-8e13-8c7852c6ea51', '1970-01-01 00:00:00+00', 'sqlean, uuid7(0)'),
  ('00000000-0001-7fff-8000-000000000000', '1970-01-01 00:00:00.001+00', '1000 microseconds after 1970')
) AS published (id, created, source);

-- the first and the last millisecond, and the years between
SELECT id, comb_timestamp(id)
FROM (VALUES
  ('00000000-0000-7000-8000-000000000000'::uuid),
  ('00dc6acf-abff-7fff-bfff-ffffffffffff'),
  ('00dc6acf-ac01-7320-9bac-f847db4148a8'),
  ('018df74f-83ff-7320-9bac-f847db4148a8'),
  ('01f3ffff-ffff-7fff-bfff-ffffffffffff'),
  ('e677d21f-dbff-7320-9bac-f847db4148a8'),
  ('ffffffff-ffff-7fff-bfff-ffffffffffff')
) AS edges (id);

-- a uuid without a time in this field gives NULL: no wrong time and no error
SELECT what, id, comb_timestamp(id) IS NULL AS t
FROM (VALUES
  ('nil', '00000000-0000-0000-0000-000000000000'::uuid),
  ('max', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
  ('version 1', 'c232ab00-9414-11ec-b3c8-9f6bdeced846'),
  ('version 3', '5df41881-3aed-3515-88a7-2f4a814cf09e'),
  ('version 4', '919108f7-52d1-4320-9bac-f847db4148a8'),
  ('version 5', '2ed6657d-e927-568b-95e1-2665a8aea6a2'),
  ('version 6', '1ec9414c-232a-6b00-b3c8-9f6bdeced846'),
  ('version 8', '2489e9ad-2ee2-8e00-8ec9-32d5f69181c0'),
  ('version 7, variant 0', '017f22e2-79b0-7cc3-18c4-dc0c0c07398f'),
  ('version 7, variant 01', '017f22e2-79b0-7cc3-78c4-dc0c0c07398f'),
  ('version 7, variant 11', '017f22e2-79b0-7cc3-d8c4-dc0c0c07398f')
) AS others (what, id);

SELECT count(comb_timestamp(gen_random_uuid())) = 0 AS t FROM generate_series(1, 10000);

--
-- comb_stamp writes time, version and variant, and keeps every other bit
--
SELECT base, at, comb_stamp(base, at)
FROM (VALUES
  ('919108f7-52d1-4320-9bac-f847db4148a8'::uuid, '1970-01-01 00:00:00+00'::timestamptz),
  ('ffffffff-ffff-ffff-ffff-ffffffffffff', '1999-12-31 23:59:59.999+00'),
  ('919108f7-52d1-4320-9bac-f847db4148a8', '2000-01-01 00:00:00.001+00'),
  ('ffffffff-ffff-ffff-ffff-ffffffffffff', '2012-06-02 00:11:11.814+00'),
  ('919108f7-52d1-4320-9bac-f847db4148a8', '2024-02-29 23:59:59.999+00'),
  ('ffffffff-ffff-ffff-ffff-ffffffffffff', '2038-01-19 03:14:07.999+00'),
  ('919108f7-52d1-4320-9bac-f847db4148a8', '9999-12-31 23:59:59.999+00'),
  ('00000000-0000-0000-0000-000000000000', '2026-11-20 04:22:18.367+00'),
  ('00000000-0000-0000-0000-000000000000', '2026-11-20 04:22:18.367001+00'),
  ('00000000-0000-0000-0000-000000000000', '2026-11-20 04:22:18.367999+00'),
  ('00000000-0000-0000-0000-000000000000', '10889-08-02 05:31:50.655999+00')
) AS stamped (base, at);

-- the last millisecond before 1970, the first after the end, and times beyond
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '1969-12-31 23:59:59.999999+00');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '10889-08-02 05:31:50.656+00');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '0044-03-15 12:00:00+00 BC');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '294276-12-31 23:59:59.999999+00');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', 'infinity');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '-infinity');
\echo :LAST_ERROR_SQLSTATE

--
-- comb_at has the same limits, far beyond the year 4199 where the clock's ticks
-- end; each call makes a new key
--
SELECT at, comb_timestamp(comb_at(at)) = date_trunc('milliseconds', at) AS t
FROM (VALUES
  ('1970-01-01 00:00:00+00'::timestamptz),
  ('1970-01-01 00:00:00.000001+00'),
  ('1999-12-31 23:59:59.999999+00'),
  ('2000-01-01 00:00:00.000999+00'),
  ('2026-11-20 04:22:18.367999+00'),
  ('4199-11-24 01:22:57.664+00'),
  ('10889-08-02 05:31:50.655+00'),
  ('10889-08-02 05:31:50.655999+00')
) AS edges (at);

SELECT comb_at('1969-12-31 23:59:59.999999+00');
SELECT comb_at('10889-08-02 05:31:50.656+00');
SELECT comb_at('0044-03-15 12:00:00+00 BC');
SELECT comb_at('infinity');
SELECT comb_at('-infinity');
\echo :LAST_ERROR_SQLSTATE

--
-- comb_min and comb_max: every instant has bounds, even if no key can hold it
--
SELECT at, comb_min(at), comb_max(at)
FROM (VALUES
  ('-infinity'::timestamptz),
  ('4714-11-24 00:00:00+00 BC'),
  ('0044-03-15 12:00:00+00 BC'),
  ('1969-12-31 23:59:59.999+00'),
  ('1969-12-31 23:59:59.999999+00'),
  ('1970-01-01 00:00:00+00'),
  ('1970-01-01 00:00:00.000001+00'),
  ('1970-01-01 00:00:00.001+00'),
  ('1999-12-31 23:59:59.999999+00'),
  ('2000-01-01 00:00:00+00'),
  ('2026-11-20 04:22:18.366999+00'),
  ('2026-11-20 04:22:18.367+00'),
  ('2026-11-20 04:22:18.367001+00'),
  ('2026-11-20 04:22:18.367999+00'),
  ('2026-11-20 04:22:18.368+00'),
  ('10889-08-02 05:31:50.654999+00'),
  ('10889-08-02 05:31:50.655+00'),
  ('10889-08-02 05:31:50.655001+00'),
  ('10889-08-02 05:31:50.655999+00'),
  ('10889-08-02 05:31:50.656+00'),
  ('294276-12-31 23:59:59.999999+00'),
  ('infinity')
) AS edges (at);

-- a literal needs no cast
SELECT comb_min('2026-11-01'), comb_max('2026-11-01');

--
-- comb_time_decoder, and comb_min as pg_partman's encoder: the calls have untyped literals, or text
--
SELECT at, comb_min(at), comb_time_decoder(comb_min(at)::text)
FROM (VALUES
  ('1970-01-01 00:00:00+00'::timestamptz),
  ('1970-01-01 00:00:00.000001+00'),
  ('1999-12-31 23:59:59.999+00'),
  ('2026-11-20 00:00:00.000999+00'),
  ('10889-08-02 05:31:50.655+00')
) AS bounds (at);
SELECT comb_min('2026-11-20 00:00:00+00');
SELECT comb_time_decoder('01a1f640-bc00-7000-8000-000000000000');
SELECT comb_time_decoder(id::text)
FROM (VALUES
  ('01a1f640-bc00-0000-0000-000000000000'::uuid),
  ('01a1f640-bc00-4320-9bac-f847db4148a8'),
  ('00000000-0000-0000-0000-000000000000'),
  ('ffffffff-ffff-ffff-ffff-ffffffffffff')
) AS keys (id);

-- the decoder takes every spelling that uuid takes, and nothing else
SELECT comb_time_decoder('{01A1F640-BC00-7000-8000-000000000000}');
SELECT comb_time_decoder('01a1f640bc00700080000000000000ff');
SELECT comb_time_decoder('01a1-f640-bc00-7000-8000-0000-0000-0000');
SELECT comb_time_decoder('2026-11-20');
\echo :LAST_ERROR_SQLSTATE
SELECT comb_time_decoder('');
SELECT comb_time_decoder('01a1f640-bc00-7000-8000-00000000000');

--
-- NULL gives NULL
--
SELECT comb_timestamp(NULL) IS NULL AS t,
       comb_stamp(NULL, '2026-11-20') IS NULL AS t,
       comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', NULL) IS NULL AS t,
       comb_at(NULL) IS NULL AS t,
       comb_min(NULL) IS NULL AS t,
       comb_max(NULL) IS NULL AS t,
       comb_time_decoder(NULL) IS NULL AS t;

--
-- The session's settings change neither keys nor errors
--
SET TimeZone = 'Asia/Kathmandu';
SET DateStyle = 'SQL, DMY';
SELECT comb_min(timestamptz '2026-11-20 00:00:00+00') AS min,
       comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', timestamptz '2026-11-20 00:00:00+00') AS stamp;
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', 'infinity');
RESET TimeZone;
RESET DateStyle;
