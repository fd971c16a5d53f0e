-- name: Insert :one
INSERT INTO orders (item) VALUES ($1) RETURNING *;

-- name: Bulk :many
INSERT INTO orders (item) SELECT unnest(sqlc.arg(names)::text[]) RETURNING *;

-- name: Copy :copyfrom
INSERT INTO orders (item) VALUES ($1);

-- name: Time :one
SELECT item, comb_timestamp(id) AS created FROM orders WHERE id = $1;

-- name: Between :many
SELECT * FROM orders WHERE comb_during(id, sqlc.arg(since), sqlc.arg(until)) ORDER BY id;

-- name: During :many
SELECT * FROM orders WHERE comb_created(id, sqlc.arg(period)) ORDER BY id;

-- name: Page :many
SELECT * FROM orders WHERE id > sqlc.arg(after) ORDER BY id LIMIT sqlc.arg(size);

-- name: Find :many
SELECT * FROM orders WHERE id = $1 AND number = $2;
