CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	amount int NOT NULL DEFAULT 1,
	ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql')
);
