<?php
// PDO, and the runner of statements.sql for it

// The runner copies the versions from this line into its table.
echo '# versions: PHP ', PHP_VERSION, ', PDO_PGSQL ', phpversion('pdo_pgsql'), "\n";

function test(string $name, bool $passed): void
{
	echo $passed ? 'ok' : 'not ok', " - $name\n";
}

// libpq has its own variables.
$pdo = new PDO('pgsql:');
$pdo->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_ASSOC);

// PDO gives times as texts, and takes a range as one.
$known = ['clock' => date(DATE_RFC3339)];
preg_match_all('/^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$/m', file_get_contents('statements.sql'), $all, PREG_SET_ORDER);
foreach ($all as [, $name, $title, $text, $expected]) {
	$values = [];
	$text = preg_replace_callback('/\$(?:(\w+)|\[(\w+),(\w+)\))/', function ($m) use ($known, &$values) {
		$values[] = isset($m[2]) ? "[{$known[$m[2]]},{$known[$m[3]]})" : $known[$m[1]];
		return '?';
	}, $text);
	try {
		$statement = $pdo->prepare($text);
		$statement->execute($values);
		$rows = $statement->columnCount() ? $statement->fetchAll() : [];
		$answer = implode(' ', array_column($rows, 'item'));
		$known = [...$known, ...end($rows) ?: []];
	} catch (PDOException $error) {
		[$sqlstate, , $message] = $error->errorInfo;
		$answer = preg_replace('/.*HINT:  ([^,]*).*/s', "$sqlstate \$1", $message);
	}
	test($title, $answer === trim($expected));
}
test('a Snowflake is an int', is_int($known['number']));

// lastInsertId() reads a sequence.  A uuid column has none.
try {
	$found = $pdo->lastInsertId() === $known['id'];
} catch (PDOException $error) {
	$found = $error->getCode() !== '55000';
}
test('lastInsertId() finds no id', !$found);
