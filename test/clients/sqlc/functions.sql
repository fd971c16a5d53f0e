-- What sqlc must know of pg_comb.  It reads no extension's script.
CREATE FUNCTION comb_during(id uuid, since timestamptz, until timestamptz) RETURNS boolean AS '' LANGUAGE sql;
