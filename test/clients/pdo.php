<?php
// PDO

// The runner copies the versions from this line into its table.
echo '# versions: PHP ', PHP_VERSION, ', PDO_PGSQL ', phpversion('pdo_pgsql'), "\n";

$count = $failed = 0;

function test(string $name, bool $passed): void
{
	global $count, $failed;
	$count++;
	$failed += $passed ? 0 : 1;
	echo $passed ? 'ok' : 'not ok', " $count - $name\n";
}

function is_key(string $id): bool
{
	return preg_match('/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/', $id) === 1;
}

$items = ['salt', 'oil', 'rice', 'tea', 'milk'];
$pdo = new PDO('pgsql:host=' . getenv('PGHOST') . ';dbname=' . getenv('PGDATABASE'), getenv('PGUSER'));
$pdo->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_ASSOC);
$pdo->exec('CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	amount int NOT NULL DEFAULT 1,
	ref uuid NOT NULL DEFAULT comb_generate(\'rtcomb_sql\'))');

function query(string $query, array $values): array
{
	global $pdo;
	$statement = $pdo->prepare($query);
	$statement->execute($values);
	return $statement->fetchAll();
}

function between(DateTimeInterface $since, DateTimeInterface $until): array
{
	return query('SELECT * FROM orders WHERE comb_during(id, ?, ?) ORDER BY id',
		[$since->format(DATE_RFC3339_EXTENDED), $until->format(DATE_RFC3339_EXTENDED)]);
}

function during(DateTimeInterface $since, DateTimeInterface $until): array
{
	$period = '[' . $since->format(DATE_RFC3339_EXTENDED) . ',' . $until->format(DATE_RFC3339_EXTENDED) . ')';
	return query('SELECT * FROM orders WHERE comb_created(id, ?) ORDER BY id', [$period]);
}

[$first] = query('INSERT INTO orders (item) VALUES (?) RETURNING *', ['bread']);
test('an insert gives the id back', is_key($first['id']));

$places = implode(', ', array_fill(0, count($items), '(?)'));
$rows = query("INSERT INTO orders (item) VALUES $places RETURNING *", $items);
$ids = array_column([$first, ...$rows], 'id');
$sorted = $ids;
sort($sorted);
test('rows of one statement have keys in order',
	count(array_filter($ids, 'is_key')) === 6 && $ids === $sorted);

[$again] = query('INSERT INTO orders (item, amount) VALUES (?, ?)
	ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *', ['bread', 7]);
test('an upsert keeps the id', $again['id'] === $first['id'] && $again['amount'] === 7);

[['created' => $text]] = query('SELECT comb_timestamp(?) AS created', [$first['id']]);
$created = new DateTimeImmutable($text);
test('the key has the time', abs($created->getTimestamp() - time()) < 60);

foreach (['two timestamps' => 'between', 'a range' => 'during'] as $name => $period) {
	$of = fn ($since, $until) => array_column($period(new DateTimeImmutable($since), new DateTimeImmutable($until)), 'item');
	test("a period by $name", $of('-1 minute', '+1 minute') === ['bread', ...$items]
		&& $of('-2 hours', '-1 hour') === []
		&& in_array('bread', array_column($period($created, $created->modify('+1 ms')), 'item'))
		&& $period(new DateTimeImmutable('-1 hour'), $created) === []);
}

$seen = [];
$after = '00000000-0000-0000-0000-000000000000';
while ($page = query('SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?', [$after, 4])) {
	$seen = [...$seen, ...array_column($page, 'item')];
	$after = end($page)['id'];
}
test('pages by the key', $seen === ['bread', ...$items]);

$found = array_map(fn ($row) => query('SELECT item FROM orders WHERE number = ?', [$row['number']])[0]['item'], [$first, ...$rows]);
test('a Snowflake keeps its digits', $found === ['bread', ...$items] && is_int($first['number']) && $first['number'] > 2 ** 53);

try {
	$pdo->query("SELECT comb_generate('sequential')");
	test('an error', false);
} catch (PDOException $error) {
	[$sqlstate, , $message] = $error->errorInfo;
	test('an error has its SQLSTATE and hint', $sqlstate === '22023' && str_contains($message, 'HINT:  The layouts are uuidv7, '));
}

// lastInsertId() reads a sequence.  A uuid column has none.
try {
	test('lastInsertId() finds no id', $pdo->lastInsertId() !== $first['id']);
} catch (PDOException $error) {
	test('lastInsertId() finds no id', $error->getCode() === '55000');
}

echo "1..$count\n";
exit($failed ? 1 : 0);
