-- A seed for random(): the one given, or any.  Names of tests end in :why, so
-- that a failure says how to repeat it.
\if :{?seed}
\else
SELECT round(random()::numeric, 6) AS seed \gset
\endif
\set why ', seed ' :seed
SELECT setseed(:seed) AS void \gset
