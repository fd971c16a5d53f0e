--
-- The catalog: rules for all objects of the extensions
--

-- objects without a comment: none
SELECT pg_describe_object(classid, objid, 0) AS uncommented
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass
  AND refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('pg_comb', 'pg_comb_ordered'))
  AND deptype = 'e'
  AND obj_description(objid, classid::regclass::name) IS NULL
  -- from 17 on a domain's array type is a member too
  AND NOT (classid = 'pg_type'::regclass AND
           EXISTS (SELECT FROM pg_type WHERE oid = objid AND typcategory = 'A'))
ORDER BY 1;

-- functions that are parallel unsafe: a reset, and the one that calls nextval()
SELECT oid::regprocedure AS unlabelled
FROM pg_proc
WHERE pronamespace = (SELECT extnamespace FROM pg_extension WHERE extname = 'pg_comb')
  AND proname LIKE 'comb\_%' AND proparallel = 'u' AND prokind <> 'p'
ORDER BY 1;

-- functions with a name of the server, those of pg_comb that have settings or their owner's rights, or are
-- not for everybody, and a second one that takes pg_partman's untyped literal: none
SELECT p.oid::regprocedure AS special
FROM pg_extension e
     JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
     JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE extname = 'pg_comb' AND (prosecdef OR proconfig IS NOT NULL OR NOT has_function_privilege('public', p.oid, 'EXECUTE'))
   OR extname IN ('pg_comb', 'pg_comb_ordered')
      AND EXISTS (SELECT FROM pg_proc s WHERE s.proname = p.proname AND s.pronamespace = 'pg_catalog'::regnamespace)
   OR p.proname IN ('comb_min', 'comb_time_decoder') AND p.pronargs = 1
      AND EXISTS (SELECT FROM pg_proc s WHERE s.proname = p.proname AND s.pronargs = 1 AND s.oid <> p.oid)
ORDER BY 1;

-- the functions that a query can call, and their labels; the format is unaligned,
-- so that a new function changes a single line
\pset format unaligned
SELECT extname, p.oid::regprocedure AS function, provolatile AS volatile,
       proisstrict AS strict, proparallel AS parallel, proleakproof AS leakproof
FROM pg_extension e
     JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
     JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE extname IN ('pg_comb', 'pg_comb_ordered')
ORDER BY extname, p.oid::regprocedure::text COLLATE "C";
\pset format aligned
-- and how many rows the planner expects
SELECT oid::regprocedure AS function, prorows FROM pg_proc
WHERE proretset AND pronamespace = (SELECT extnamespace FROM pg_extension WHERE extname = 'pg_comb')
  AND proname LIKE 'comb\_%'
ORDER BY oid::regprocedure::text COLLATE "C";

-- the settings, which exist after the module is loaded
LOAD 'pg_comb';
SELECT name, setting, unit, context, min_val, max_val
FROM pg_settings WHERE name LIKE 'pg\_comb.%' ORDER BY name;
