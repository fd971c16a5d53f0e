-- name: Insert :many
INSERT INTO orders (item) SELECT unnest(sqlc.arg(names)::text[]) RETURNING *;

-- name: Time :one
SELECT item, comb_timestamp(id) AS created FROM orders WHERE id = $1;

-- name: Between :many
SELECT * FROM orders WHERE comb_during(id, sqlc.arg(since), sqlc.arg(until)) ORDER BY id;

-- name: During :many
SELECT * FROM orders WHERE comb_created(id, sqlc.arg(period)) ORDER BY id;
