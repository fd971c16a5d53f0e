-- What test/t/083_period_fuzz.pl needs in every database: functions whose answer the
-- planner cannot foresee, and the brute-force answer.
CREATE SCHEMA fuzz;
CREATE DOMAIN fuzz.key AS uuid;
CREATE DOMAIN fuzz.span AS tstzrange;

-- Is the key's time in the period?  This is written out bound by bound and in
-- PL/pgSQL, so the planner has nothing to simplify, to inline or to match to an
-- index.
CREATE FUNCTION fuzz.brute(id uuid, period tstzrange, layout text DEFAULT 'uuidv7')
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
	at timestamptz;
BEGIN
	IF id IS NULL OR period IS NULL OR layout IS NULL THEN
		RETURN NULL;
	END IF;
	at := comb_timestamp(id, layout);
	IF at IS NULL OR isempty(period) THEN
		RETURN false;
	END IF;
	RETURN (lower_inf(period) OR at > lower(period) OR (at = lower(period) AND lower_inc(period)))
		AND (upper_inf(period) OR at < upper(period) OR (at = upper(period) AND upper_inc(period)));
END $$;

-- How does the key's time compare with another time?  The types of the times are
-- those of the query.
CREATE FUNCTION fuzz.compared(made timestamptz, operator text, at anyelement, reversed boolean)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF reversed THEN
		operator := translate(operator, '<>', '><');
		operator := replace(operator, '><', '<>');
	END IF;
	RETURN CASE operator WHEN '<' THEN made < at WHEN '<=' THEN made <= at WHEN '=' THEN made = at
		WHEN '>=' THEN made >= at WHEN '>' THEN made > at WHEN '<>' THEN made <> at END;
END $$;
CREATE FUNCTION fuzz.compare(id uuid, operator text, at anyelement, layout text DEFAULT 'uuidv7', reversed boolean DEFAULT false)
RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN fuzz.compared(comb_timestamp(id, layout), operator, at, reversed); END';
CREATE FUNCTION fuzz.compare_any(id uuid, at anyarray, layout text DEFAULT 'uuidv7')
RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN comb_timestamp(id, layout) = ANY (at); END';
CREATE FUNCTION fuzz.compare_snowflake(id bigint, operator text, at anyelement, reversed boolean DEFAULT false)
RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN fuzz.compared(comb_snowflake_timestamp(id), operator, at, reversed); END';
-- The time of a key, where the planner does not see it
CREATE FUNCTION fuzz.made(id uuid, layout text DEFAULT 'uuidv7') RETURNS timestamptz
	LANGUAGE plpgsql STABLE AS 'BEGIN RETURN comb_timestamp(id, layout); END';
CREATE FUNCTION fuzz.volatile_time(at timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN at; END';

-- Periods that come through a function: a volatile one, a stable one that is
-- inlined, one that is too expensive to be evaluated twice, and a cheap one.
CREATE FUNCTION fuzz.volatile_period(period tstzrange) RETURNS tstzrange
	LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN period; END';
CREATE FUNCTION fuzz.inlined_period(period tstzrange) RETURNS tstzrange
	LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT period * tstzrange(NULL, NULL)';
CREATE FUNCTION fuzz.expensive_period(period tstzrange) RETURNS tstzrange
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN period; END';
CREATE FUNCTION fuzz.cheap_period(period tstzrange) RETURNS tstzrange
	LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS 'BEGIN RETURN period; END';

-- A filter that is not leakproof, for row security and security barriers.
CREATE FUNCTION fuzz.visible(k int) RETURNS boolean
	LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS 'BEGIN RETURN k IS DISTINCT FROM 3; END';

GRANT USAGE ON SCHEMA fuzz TO PUBLIC;
