-- name: Insert :many
INSERT INTO orders (item) SELECT unnest(sqlc.arg(names)::text[]) RETURNING *;

-- name: Between :many
SELECT * FROM orders WHERE comb_during(id, sqlc.arg(since), sqlc.arg(until)) ORDER BY id;
