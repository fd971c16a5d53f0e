-- A value's bytes in the order in which the layout's database compares them, from the
-- digits of the text; the module orders them in another way
CREATE FUNCTION in_order(id uuid, sorts_in text) RETURNS uuid IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  h text := replace(id::text, '-', '');
BEGIN
  RETURN CASE sorts_in
    WHEN 'SQL Server' THEN
      substr(h, 21, 12) || substr(h, 17, 4) || substr(h, 15, 2) || substr(h, 13, 2) ||
      substr(h, 11, 2) || substr(h, 9, 2) || substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2)
    WHEN 'raw .NET bytes' THEN
      substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2) ||
      substr(h, 11, 2) || substr(h, 9, 2) || substr(h, 15, 2) || substr(h, 13, 2) || substr(h, 17, 16)
    ELSE h END;
END $$;
