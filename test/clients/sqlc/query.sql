-- name: Insert :one
INSERT INTO orders (item) VALUES ($1) RETURNING *;

-- name: Bulk :many
INSERT INTO orders (item) SELECT unnest(sqlc.arg(names)::text[]) RETURNING *;

-- name: Copy :copyfrom
INSERT INTO orders (item) VALUES ($1);

-- name: Upsert :one
INSERT INTO orders (item, amount) VALUES ($1, $2)
ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *;

-- name: Time :one
SELECT comb_timestamp(id) AS created FROM orders WHERE id = $1;

-- name: Between :many
SELECT * FROM orders WHERE comb_during(id, sqlc.arg(since), sqlc.arg(until)) ORDER BY id;

-- name: During :many
SELECT * FROM orders WHERE comb_created(id, sqlc.arg(period)) ORDER BY id;

-- name: Page :many
SELECT * FROM orders WHERE id > sqlc.arg(after) ORDER BY id LIMIT sqlc.arg(size);

-- name: Find :one
SELECT * FROM orders WHERE number = $1;

-- name: Get :one
SELECT * FROM orders WHERE id = $1;

-- name: Items :many
SELECT * FROM orders WHERE item = any(sqlc.arg(names)::text[]) ORDER BY id;

-- name: Fail :one
SELECT comb_generate('sequential');
