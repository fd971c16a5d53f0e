-- A law is a condition that holds for each row of a table of inputs.
CREATE TABLE law (n serial, inputs regclass, name text, holds text);

-- The first input that breaks a law, with what the functions gave or the error that
-- they raised; NULL if there is none
CREATE FUNCTION counterexample(inputs regclass, holds text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  place tid;
  shown text;
  rows bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM %s', inputs) INTO rows;
  IF rows = 0 THEN
    RETURN 'no inputs';
  END IF;
  EXECUTE format('SELECT to_json(i) FROM %s i WHERE (%s) IS NOT TRUE LIMIT 1', inputs, holds) INTO shown;
  RETURN shown;
EXCEPTION WHEN OTHERS THEN
  -- one by one, to find the input that raises the error
  FOR place, shown IN EXECUTE format('SELECT ctid, to_json(i) FROM %s i', inputs) LOOP
    BEGIN
      EXECUTE format('SELECT FROM %s i WHERE ctid = %L AND (%s)', inputs, place, holds);
    EXCEPTION WHEN OTHERS THEN
      RETURN format('%s (%s): %s', SQLERRM, SQLSTATE, shown);
    END;
  END LOOP;
  RETURN SQLERRM;
END $$;
