-- A value's bytes in the order in which the layout's database compares them
CREATE FUNCTION pg_temp.in_order(id uuid, sorts_in text) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE sorts_in
    WHEN 'SQL Server' THEN
      (substr(h, 21, 12) || substr(h, 17, 4) || substr(h, 15, 2) || substr(h, 13, 2) ||
       substr(h, 11, 2) || substr(h, 9, 2) || substr(h, 7, 2) || substr(h, 5, 2) ||
       substr(h, 3, 2) || substr(h, 1, 2))::uuid
    WHEN 'raw .NET bytes' THEN
      (substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2) ||
       substr(h, 11, 2) || substr(h, 9, 2) || substr(h, 15, 2) || substr(h, 13, 2) ||
       substr(h, 17, 16))::uuid
    ELSE id END
  FROM (SELECT replace(id::text, '-', '') AS h OFFSET 0) s
$$;
