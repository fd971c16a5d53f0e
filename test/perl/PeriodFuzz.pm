# Random tables, and random queries with the clauses on periods.  Each query has two
# forms in one text: in "{a|b}", a is what a user writes, and b is the brute-force
# answer over a plain copy of the rows.
#
# PeriodFuzz->new(seed, queries) makes one round, which follows from the seed.
#
# The grammar below gives each symbol its alternatives, with a weight before each where
# they are not alike.  In an alternative, <symbol> is replaced by one of the symbol's alternatives or
# by what a function of %special returns.  <name=symbol> gives this the name <name> for
# the rest of the alternative, and leaves nothing behind.  The arguments of a symbol are
# the aliases that its columns may come from, and "+" adds those of the alternative.
# "w" is the table of periods.  An alternative with <x> needs an alias of rows, one with
# <w> needs that of the periods, and one with <param> needs a prepared statement.  Where
# conditions are nested deeply, the first alternative is taken.
package PeriodFuzz;

use strict;
use warnings;

use POSIX qw(strftime);

my $grammar = q{
query
	14	SELECT x.n FROM <table x> WHERE <condition x>
	6	SELECT x.n, <condition x>, <condition x> FROM <table x> <where x>
	5	SELECT x.n, w.i FROM during w <join> <table x> ON <condition x w> <where x w>
	4	SELECT x.n, w.i FROM <table x> <join> during w ON <condition x w> <where x w>
	2	SELECT x.n, w.i FROM during w FULL JOIN <table x> ON x.k = w.i AND <condition x w> <where x>
	3	SELECT x.n, y.n FROM <table x> <join> <table y> ON x.n = y.n AND <condition x y> <where x y>
	3	SELECT x.n, y.n FROM <table x> <join> <again y> ON x.n = y.n AND <condition x y> <where x y>
	3	SELECT x.n, y.n FROM <table x> JOIN <table y> ON y.n = x.n + 1 WHERE <clause y>
	4	SELECT w.i, x.n, y.n FROM during w LEFT JOIN (<table x> JOIN <table y> ON x.n = y.n AND <condition x y>)
		ON x.k = w.i AND <condition x w> WHERE <condition x y w>
	5	SELECT w.i, s.n FROM during w <lateral>
	4	SELECT x.n, s.i FROM <table x> <join_lateral> (SELECT w.i FROM during w WHERE <condition x w>) s ON <lateral_on> <where x>
	2	SELECT x.n, s.i, w.i FROM (<table x> LEFT JOIN LATERAL (SELECT w.i FROM during w WHERE <condition x w>) s ON <lateral_on>)
		JOIN during w ON <condition x w>
	3	SELECT x.n FROM <table x> WHERE <not> EXISTS (SELECT FROM during w WHERE <condition x w>)
	3	SELECT w.i FROM during w WHERE <not> EXISTS (SELECT FROM <table x> WHERE <condition x w>)
	3	SELECT x.n FROM <table x> WHERE x.n <not> IN (SELECT y.n FROM <table y> WHERE <condition y>) AND <condition x>
	3	SELECT count(*), min(x.n), sum(x.n) FROM <table x> WHERE <condition x>
	3	<c=grouped x>SELECT <c>, NOT <c>, coalesce(<c>, <c> IS NULL), count(*) FROM <partitioned x> <where x>
		GROUP BY <sets> <having>
	1	<c=grouped x>SELECT <c>, NOT <c>, count(*) FROM <table x> <where x> GROUP BY <sets> <having>
	5	SELECT x.n FROM <table x> WHERE <condition x> ORDER BY <order> LIMIT <int 1 30> OFFSET <int 0 5>
	9	SELECT row_number() OVER (), s.t FROM (SELECT comb_timestamp(x.id) AS t FROM <table x> <where x> ORDER BY <at x> <direction> <limit>) s
	5	SELECT row_number() OVER (), s.id FROM (SELECT x.id FROM <table x> <where x> ORDER BY <at x> <both> <limit>) s
	4	SELECT count(*), count(s.n IS NULL) FROM (SELECT <listed x> FROM <table x> <where x> ORDER BY <at x> <both> <limit>) s
	3	SELECT row_number() OVER (), s.t FROM (SELECT comb_timestamp(x.id) AS t, w.i FROM <ordered_join> <where x w> ORDER BY <at x> <direction> <limit>) s
	3	SELECT row_number() OVER (), s.t FROM (SELECT comb_timestamp(x.id) AS t FROM <table x> <join> <table y> ON x.n = y.n AND <condition x y>
		<where x y> ORDER BY <at x> <direction> <limit>) s
	2	SELECT rank() OVER (ORDER BY <at x>), row_number() OVER (), min(<at x>) OVER (), max(<at x>) OVER () FROM <table x> <where x>
	2	SELECT min(<at x>), max(<at x>) FROM <table x> <where x>
	4	SELECT s.n FROM (<inner>) s WHERE <condition s>
	2	SELECT s.n, w.i FROM during w <join> (<inner>) s ON <condition s w> <where s w>
	2	SELECT r.n, s.n FROM (<inner>) r <join> (<inner>) s ON r.n = s.n AND <condition r s> <where r s>
	4	<changed>{<change> WHERE|SELECT x.n FROM <rows> x WHERE} <condition x>{ RETURNING x.n|}
	2	<changed>{<change_during> w WHERE|SELECT DISTINCT x.n FROM <rows> x, during w WHERE} <condition x w>{ RETURNING x.n|}
	2	<conflict>{INSERT INTO t7 |}SELECT x.n{, x.id, x.d, x.k, x.o, x.p, x.s|} FROM <table x> WHERE <condition x>
		{ ON CONFLICT (n) WHERE <arbiter> DO NOTHING RETURNING n| AND (<known>) IS NOT TRUE}

where: WHERE <condition> | <nothing>
at: {comb_timestamp(<x>.id)|(comb_timestamp(<x>.id) + interval '0')}
listed: <x>.n | <x>.n, <x>.id | <x>.k, <x>.id, <x>.n
direction: ASC | 2 DESC | ASC NULLS FIRST | DESC NULLS LAST | USING >
both: , x.id | 2 DESC, x.id DESC | DESC NULLS LAST, x.id DESC NULLS LAST | , x.id DESC | DESC, x.id
limit: 6 LIMIT <int 1 60> | 2 LIMIT 20 OFFSET <int 0 60> | <nothing> | FETCH FIRST <int 1 30> ROWS WITH TIES
ordered_join: during w <join> <table x> ON <condition x w> | <table x> <join> during w ON <condition x w>
join: 2 JOIN | 2 LEFT JOIN | RIGHT JOIN
not: <nothing> | NOT
join_lateral: 3 LEFT JOIN LATERAL | JOIN LATERAL
lateral_on: 3 true | s.i % 2 = 0
lateral: CROSS JOIN LATERAL (<lateral_rows>) s | LEFT JOIN LATERAL (<lateral_rows>) s ON s.n % 2 = 0
lateral_rows
	1	SELECT x.n FROM <table x> WHERE <condition x w> ORDER BY x.id DESC, x.n LIMIT 2
	1	SELECT count(*) AS n FROM <table x> WHERE <condition x w>
	2	SELECT x.n FROM <table x> WHERE <condition x w>
sets: ROLLUP (<c>) | CUBE (<c>, x.k) | ROLLUP (x.k, <c>) | GROUPING SETS ((<c>), (x.k)) |
		GROUPING SETS ((<c>), ())
having: 2 <nothing> | HAVING <c> | HAVING NOT <c> | HAVING <c> IS NOT TRUE AND count(*) > 1
order: x.id, x.n | x.id DESC, x.n | x.n DESC | x.o USING #># , x.n | x.id NULLS LAST, x.n
inner
	2	SELECT * FROM <table x>
	1	SELECT * FROM <table x> OFFSET 0
	1	SELECT DISTINCT ON (n) * FROM <table x> ORDER BY n
	1	SELECT *, row_number() OVER (PARTITION BY n) FROM <table x>
	2	<some x> UNION ALL <some y>
	2	<some x> UNION ALL <some y> WHERE <condition y> UNION ALL (<some z> UNION ALL <some y>)
	1	WITH c AS MATERIALIZED (<some x>) TABLE c
some: SELECT n, id, d, k, o, p, s FROM <table>
change: DELETE FROM <name> x | UPDATE <name> x SET k = x.k
change_during: DELETE FROM <name> x USING during | UPDATE <name> x SET k = x.k FROM during

condition
	12	<clause>
	2	<other>
	2	<sub_select>
	5	(<condition> AND <condition>)
	4	(<condition> OR <condition>)
	4	(NOT <condition>)
	1	(CASE WHEN <condition> THEN <condition> ELSE <condition> END)
	1	(<condition> IS <truth>)
	1	coalesce(<condition>, <truth_value>)
truth: TRUE | NOT TRUE | FALSE | NOT FALSE | UNKNOWN | NOT UNKNOWN
truth_value: true | false
other
	1	NULL::boolean
	1	(<w>.i < 5)
	2	(<x>.k < 5)
	1	(<x>.id > comb_min('<instant>'))
	1	(<x>.id < comb_max('<instant>'))
	1	(comb_timestamp(<x>.id) < '<instant>')
	1	(<x>.p @> '<instant>'::timestamptz)
	2	<k=x><p=favourite>(<k>.id BETWEEN comb_range_min('<p>') AND comb_range_max('<p>'))
sub_select
	3	<o=x>EXISTS (SELECT FROM <table e> WHERE e.n = <o>.n AND <clause e>)
	2	<o=x>(NOT EXISTS (SELECT FROM <table e> WHERE e.k = <o>.k AND <clause e>))
	2	<o=x>(NOT EXISTS (SELECT FROM <table e> WHERE e.n = <o>.n + 1 AND <clause e +>))
	1	EXISTS (SELECT FROM <table e> WHERE e.k = <w>.i AND <clause e +>)
	1	EXISTS (SELECT FROM <table e> WHERE <clause e>)
	1	((SELECT count(*) FROM <table e> WHERE <clause e +>) > <int 0 2>)

clause
	50	<k=key><p=period>{(<form>)|fuzz.brute(<k>, <p>)}
	10	<k=labelled><p=period>{comb_created(<k>, <p>, '<layout>')|fuzz.brute(<k>, <p>, '<layout>')}
	3	<k=labelled><l=label><p=period>{comb_created(<k>, <p>, <l>)|fuzz.brute(<k>, <p>, <l>)}
	10	<k=key><e=ends>{comb_during(<k>, <e>)|fuzz.brute(<k>, tstzrange(<e>))}
	40	<k=key><c=compare><a=time>{(comb_timestamp(<k>) <c> <a>)|fuzz.compare(<k>, '<c>', <a>)}
	10	<k=key><c=compare><a=time>{(<a> <c> comb_timestamp(<k>))|fuzz.compare(<k>, '<c>', <a>, reversed => true)}
	10	<k=key><a=time><b=time>{(comb_timestamp(<k>) BETWEEN <a> AND <b>)|(fuzz.compare(<k>, '>=', <a>) AND fuzz.compare(<k>, '<=', <b>))}
	4	<k=key><a=times>{(comb_timestamp(<k>) = ANY (<a>))|fuzz.compare_any(<k>, <a>)}
	8	<k=key><c=beyond><a=time><v=last>{((comb_timestamp(<k>), <k>) <c> (<a>, <v>))|<page>}
	5	<k=key><c=beyond><a=time><v=last>{(comb_timestamp(<k>) <strict> <a> OR (comb_timestamp(<k>) = <a> AND <k> <c> <v>))|<page>}
	3	<k=key><c=beyond><a=time><v=last>{(comb_timestamp(<k>) <strict>= <a> AND (comb_timestamp(<k>) <strict> <a> OR <k> <c> <v>))|(fuzz.compare(<k>, '<strict>=', <a>) AND (fuzz.compare(<k>, '<strict>', <a>) OR <k> <c> <v>))}
	12	<k=labelled><c=compare><a=time>{(comb_timestamp(<k>, '<layout>') <c> <a>)|fuzz.compare(<k>, '<c>', <a>, '<layout>')}
	3	<k=labelled><c=compare><a=time>{(<a> <c> comb_timestamp(<k>, '<layout>'))|fuzz.compare(<k>, '<c>', <a>, '<layout>', true)}
	2	<k=labelled><a=times>{(comb_timestamp(<k>, '<layout>') = ANY (<a>))|fuzz.compare_any(<k>, <a>, '<layout>')}
	20	<k=key><made=plain_time>(<wrapped>)
	6	<k=labelled><made=labelled_time>(<wrapped>)
	12	<k=x><c=compare><a=time>{(comb_snowflake_timestamp(<k>.s) <c> <a>)|fuzz.compare_snowflake(<k>.s, '<c>', <a>)}
	3	<k=x><c=compare><a=time>{(<a> <c> comb_snowflake_timestamp(<k>.s))|fuzz.compare_snowflake(<k>.s, '<c>', <a>, true)}
wrapped
	6	<day> <compare> <day_value>
	2	<day> <compare> <clock_value>
	6	<clock> <compare> <clock_value>
	2	<clock> <compare> <instant_value>
	6	<cut> <compare> <instant_value>
	2	<cut> <compare> <day_value>
	2	<instant_value> <compare> <cut>
	2	<day> BETWEEN <day_value> AND <day_value>
	4	<age> <compare> <span_value>
	2	<span_value> <compare> <age>
	2	<seconds> <compare> <seconds_value>
	1	extract(epoch FROM <age>) <compare> <int 0 9000000>
	1	(current_date - <day>) <compare> <int 200 340>
day: 4 <of_instant>::date | 3 <clock>::date | (<day> + <int 0 3>) | (<day> - <int 0 3>)
clock: 3 <of_instant>::timestamp | 4 (<of_instant> AT TIME ZONE <in_zone>) | date_trunc('<unit>', <clock>) | (<clock> - <interval>) | (<clock> + <interval>) |
		<day>::timestamp | (<day> - <interval>)
of_instant: 5 <made> | <cut>
cut: 4 date_trunc('<unit>', <of_instant>) | 3 date_trunc('<unit>', <of_instant>, <in_zone>) | 2 (<of_instant> - <interval>) | 2 (<of_instant> + <interval>) |
		(<clock> AT TIME ZONE <in_zone>) | <clock>::timestamptz | <day>::timestamptz
age: 3 ('<instant>'::timestamptz - <of_instant>) | (<of_instant> - '<instant>'::timestamptz) | ('<instant>'::timestamp - <clock>) |
		(now() - <of_instant>)
seconds: extract(epoch FROM <of_instant>) | date_part('epoch', <of_instant>) | extract(epoch FROM <clock>) | date_part('epoch', <clock>)
day_value: 4 '<instant>'::date | 2 <param date instant> | <w>.until::date | '<extreme_date>'::date | NULL::date | (current_date - (current_date - '<instant>'::date)) |
		('<instant>'::timestamptz AT TIME ZONE <in_zone>)::date
clock_value: 4 '<instant>'::timestamp | 2 <param timestamp instant> | date_trunc('<unit>', '<instant>'::timestamp) |
		('<instant>'::timestamptz AT TIME ZONE <in_zone>) | <w>.until::timestamp | '<extreme_time>'::timestamp
instant_value: 4 '<instant>'::timestamptz | 2 <param timestamptz instant> | date_trunc('<unit>', '<instant>'::timestamptz, <in_zone>) |
		(now() - (now() - '<instant>')) | <w>.since | '<extreme_time>'::timestamptz
span_value: 3 interval '<int 0 100> days' | interval '<int 0 3> months <int -9 9> days' | ('<instant>'::timestamptz - '<instant>') | interval '<int -90 90> hours' |
		(now() - '<instant>')
seconds_value: 3 extract(epoch FROM '<instant>'::timestamptz) | date_part('epoch', '<instant>'::timestamptz) | 'NaN'::float8 | 1e30 | <int 1760000000 1780000000>
unit: 3 day | week | month | quarter | year | hour | minute | days | MON | decade
interval: 2 interval '<int -30 30> hours' | interval '<int -3 3> days' | interval '<int -2 2> months <int -9 9> days <int -90 90> minutes' |
		<param interval interval_text>
interval_text: <int -30 30> hours | <int -3 3> days | <int -2 2> months
in_zone: 3 '<zone_name>' | <param text zone_name>
zone_name: America/Santiago | Asia/Beirut | Pacific/Apia | Australia/Lord_Howe | America/New_York | Asia/Kathmandu | Africa/Monrovia |
		UTC | CET | est | MSK | X+100 | <-04:30>+04:30 | A0B,J66,J67
plain_time: {comb_timestamp(<k>)|fuzz.made(<k>)}
labelled_time: {comb_timestamp(<k>, '<layout>')|fuzz.made(<k>, '<layout>')}
compare: 2 < | 2 <= | 2 >= | 2 > | = | <>
beyond: 3 < | <= | 2 > | >=
last: 4 <key_value> | 4 '<key_text>'::uuid | <x>.o | 4 <param uuid key_text>
page: (fuzz.compare(<k>, '<strict>', <a>) OR (fuzz.compare(<k>, '=', <a>) AND <k> <c> <v>))
time
	40	'<instant>'::timestamptz
	8	'<instant>'::timestamp
	8	'<instant>'::date
	6	'<extreme_time>'::timestamptz
	2	'<extreme_time>'::timestamp
	2	'<extreme_date>'::date
	2	NULL::timestamptz
	4	now() - (now() - '<instant>'::timestamptz)
	4	current_date - (current_date - '<instant>'::date)
	3	localtimestamp - (localtimestamp - '<instant>'::timestamp)
	2	current_setting('fuzz.at')::timestamptz
	2	fuzz.volatile_time('<instant>')
	4	lower(<x>.p)
	6	comb_timestamp(<x>.id)
	3	comb_timestamp(<x>.d) + interval '1 s'
	3	(SELECT since FROM during WHERE i = <int 1 8>)
	2	(SELECT min(until) FROM during WHERE i = <x>.k)
	30	<w>.since
	20	<w>.until::timestamp
	10	<w>.until::date
	6	<w>.since - interval '1 day'
	40	<param timestamptz instant>
	10	<param timestamp instant>
	10	<param date instant>
	3	coalesce(<param timestamptz instant>, '<instant>')
extreme_time: infinity | -infinity | 1969-12-31 23:59:59.9999+00 | 1970-01-01 00:00:00.0001+00 | 4199-11-24 00:00:00+00 |
		4713-01-02 00:00:00+00 BC | 10889-08-02 05:31:50.655+00 | 10889-08-02 05:31:50.6551+00 | 294276-12-31 00:00:00+00 |
		9999-12-31 23:59:59.999999+00 | 2093-09-06 15:47:35.551+00
extreme_date: infinity | -infinity | 1970-01-01 | 4713-01-01 BC | 294277-01-01 | 5874897-12-31
times
	2	ARRAY['<instant>', '<instant>']::timestamptz[]
	2	ARRAY['<instant>'::timestamptz, NULL, '<instant>']
	1	ARRAY['<instant>'::date, '<instant>']
	1	ARRAY[]::timestamptz[]
	1	NULL::timestamptz[]
	1	ARRAY['<instant>'::timestamp, 'infinity']
	2	ARRAY[<param timestamptz instant>, '<instant>']
form
	12	<k> <@ <bare>
	4	<bare> @> <k>
	1	comb_contained(<k>, <p>)
	1	comb_contains(<p>, <k>)
	1	comb_created(<k>, <p>, 'uuidv7')
	8	comb_created(<k>, <bare>)
	1	<k> <@ <p>::comb_period
	1	<k> <@ <p>::fuzz.span
	1	<k> <@ ANY (ARRAY[<p>, 'empty']::comb_period[])
	1	(<k> >= comb_range_min(<p>) AND <k> <= comb_range_max(<p>) AND <k> <@ <p>)
grouped
	3	<p=constant>{(x.id <@ <p>)|fuzz.brute(x.id, <p>)}
	1	<p=constant>{(<p> @> x.d)|fuzz.brute(x.d, <p>)}
	1	<p=constant>{comb_created(x.id, <p>)|fuzz.brute(x.id, <p>)}
	2	<p=constant>{comb_created(x.o, <p>, '<layout>')|fuzz.brute(x.o, <p>, '<layout>')}
key
	40	<x>.id
	6	<x>.d
	1	coalesce(<x>.id, <x>.o)
	1	CASE WHEN <x>.k > 4 THEN <x>.id END
	1	<x>.id::text::uuid
	1	<key_value>
labelled: 8 <x>.o | 2 <x>.id | <x>.d | <key_value>
label: 2 'ulid' | 'uuidv6' | 'rtcomb_postgresql' | '<layout>'::text | 4 <w>.l
ends
	4	<two_ends>
	4	<p=period>lower(<p>), upper(<p>)
	6	<w>.since, <w>.until
	1	<param timestamptz early>, NULL
	1	<param timestamptz early>, <param timestamptz late>
	1	'-infinity', <param timestamptz late>
early: 2025-12-01 00:00:00+00
late: 2026-06-01 00:00:00+00
period
	30	<constant>
	6	<p=constant>tstzrange(lower(<p>), upper(<p>), '<bounds>')
	3	<p=constant>tstzrange(lower(<p>) + (now() - now()), upper(<p>), '<bounds>')
	2	tstzrange(now() - (now() - '<instant>'), NULL)
	2	tstzrange(NULL, current_setting('fuzz.at')::timestamptz)
	1	NULL::tstzrange
	4	(SELECT p FROM during WHERE i = <int 1 8>)
	1	(SELECT p FROM during WHERE i < 0)
	2	(SELECT p FROM during WHERE i = <x>.k)
	4	<x>.p
	1	CASE WHEN <x>.k > 4 THEN <constant> END
	4	fuzz.<made>_period(<constant>)
	2	<constant>::fuzz.span::tstzrange
	100	<w>.p
	30	<w>.q::tstzrange
	8	<w>.p * <constant>
	8	tstzrange(lower(<w>.p), NULL)
	8	CASE WHEN <w>.i > 4 THEN <w>.p ELSE <constant> END
	8	tstzrange(<w>.since, <w>.until)
	24	fuzz.<made>_period(<w>.p)
	60	<param tstzrange constant_text>::tstzrange
	30	<param comb_period constant_text>::tstzrange
	8	tstzrange(<param timestamptz instant>, NULL)
	8	tstzrange(NULL, <param timestamptz instant>, '[]')
	4	(SELECT p FROM during WHERE i = <param int int 1 8>)
	4	fuzz.<made>_period(<param tstzrange constant_text>)
made: volatile | inlined | expensive | cheap
bounds: 2 [) | [] | (] | ()
constant: '<constant_text>'::tstzrange
constant_text: <favourite> | 2 <period_text>
period_text
	50	<open><span><close>
	6	<open><instant>,)
	6	(,<instant><close>
	3	<a=instant><open><a>,<a><close>
	4	empty
	4	(,)
	2	<open><instant>,infinity<close>
	2	<open>-infinity,<instant><close>
	1	<open>-infinity,infinity<close>
	1	[infinity,infinity]
	1	(,1970-01-01 00:00:00+00<close>
	1	<open>10889-08-02 05:31:50.655+00,)
	1	<open>20000-01-01 00:00:00+00,)
	1	(,1200-01-01 00:00:00+00)
open: 2 [ | (
close: 2 ) | ]
key_value
	60	<stamped>
	4	comb_min('<instant>')
	4	comb_max('<instant>')
	6	overlay(<stamped>::text PLACING '4' FROM 15 FOR 1)::uuid
	6	overlay(<stamped>::text PLACING '1' FROM 15 FOR 1)::uuid
	3	overlay(<stamped>::text PLACING 'c' FROM 20 FOR 1)::uuid
	4	<uuid>::uuid
	2	comb_stamp(<uuid>, '1970-01-01 00:00:00+00')
	2	comb_stamp(<uuid>, '10889-08-02 05:31:50.655+00')
	2	<extreme>::uuid
	5	NULL::uuid
other_key_value
	60	comb_stamp(<uuid>, '<instant>', '<layout>')
	8	comb_stamp(<extreme>, '<instant>', '<layout>')
	15	overlay(comb_stamp(<uuid>, '<instant>', '<layout>')::text PLACING '<int 0 9>' FROM <digit> FOR 1)::uuid
	6	<stamped>
	6	<uuid>::uuid
	2	<extreme>::uuid
	4	NULL::uuid
digit: 5 | 7 | 8 | 11 | 13 | 16 | 18 | 21 | 23 | 26 | 28 | 30 | 32 | 34 | 36
stamped: comb_stamp(<uuid>, '<instant>')
extreme: '00000000-0000-0000-0000-000000000000' | 'ffffffff-ffff-ffff-ffff-ffffffffffff'

base_row
	2	<k=key_value>(<i>, <k>, <k>, <group>, <other_key_value>, <period_or_null>, <snowflake>)
	1	(<i>, <key_value>, <key_value>, <group>, <other_key_value>, <period_or_null>, <snowflake>)
snowflake: 20 comb_snowflake_min('<instant>') + <int 0 5000000> | 10 comb_snowflake_max('<instant>') | NULL | -1 | 0 |
		9223372036854775807 | 9223372036850581504 | -4194304
group: NULL | 11 <int 0 9>
during_row: (<i>, <period_or_null>, <period_or_null>, <two_ends>, <label_value>)
period_or_null: 7 '<constant_text>' | NULL
label_value: NULL | 3 '<layout>' | 2 '<any_layout>'

heap: CREATE TABLE <t> (<columns>);<index>;<index>;<index>;<index>
few_pages: CREATE TABLE <t> (<columns>) WITH (fillfactor = 30);CREATE UNIQUE INDEX ON <t> (n);<brin>;<brin>
heap2: CREATE TABLE <t> (<columns>) USING heap2;<index>;<index>
range: CREATE TABLE <t> (<columns>) PARTITION BY RANGE (id);<ranges id>;<index>;<index>
range_other: CREATE TABLE <t> (<columns>) PARTITION BY RANGE (<other_order>);<ranges o>;<index>;<index>
list: CREATE TABLE <t> (<columns>) PARTITION BY LIST (k);
		CREATE TABLE <t>_1 PARTITION OF <t> FOR VALUES IN (NULL, 0, 1, 2, 3);
		CREATE TABLE <t>_2 PARTITION OF <t> FOR VALUES IN (4, 5, 6) PARTITION BY RANGE (id);<ranges id _2>;
		CREATE TABLE <t>_3 PARTITION OF <t> DEFAULT;<index>
hash: CREATE TABLE <t> (<columns>) PARTITION BY HASH (id);<remainders>;<index>;<index>
range_hash: CREATE TABLE <t> (<columns>) PARTITION BY RANGE (id);
		CREATE TABLE <t>_h PARTITION OF <t> FOR VALUES FROM (MINVALUE) TO (comb_min('<instant>')) PARTITION BY HASH (id);<remainders _h>;
		CREATE TABLE <t>_d PARTITION OF <t> DEFAULT;<index>;<index>
inherited: <p=favourite>CREATE TABLE <t> (<columns>);
		CREATE TABLE <t>_1 (CHECK (id <@ '<p>')) INHERITS (<t>);INSERT INTO <t>_1 SELECT * FROM base WHERE fuzz.brute(id, '<p>');
		CREATE TABLE <t>_2 (CHECK (NOT id <@ '<p>')) INHERITS (<t>);
		INSERT INTO <t>_2 SELECT * FROM base WHERE NOT fuzz.brute(id, '<p>');
		CREATE INDEX ON <t>_1 (id);CREATE INDEX ON <t>_2 (id)
foreign
	1	CREATE FOREIGN TABLE <t> (<columns>) SERVER bare OPTIONS (schema_name '<schema>', table_name 'base')
	1	CREATE FOREIGN TABLE <t> (<columns>) SERVER same OPTIONS (schema_name '<schema>', table_name 'base')
	1	CREATE FOREIGN TABLE <t> (<columns>) SERVER same
		OPTIONS (schema_name '<schema>', table_name 'base', use_remote_estimate 'true')
index: CREATE INDEX ON <t> <indexed> | <brin>
indexed: 4 (id) | 2 (id, k) | (k, id) | (id DESC NULLS LAST) | (id) INCLUDE (n) | (d) |
		8 (<other_order>, n) | (o comb_mssql_ops DESC) |
		(id) WHERE id <@ '<favourite>' | (k) WHERE id <@ '<favourite>' |
		(n) WHERE '<favourite>'::tstzrange @> id | (id) WHERE NOT id <@ '<favourite>' |
		(o) WHERE comb_created(id, '<favourite>') | (k) WHERE comb_created(o, '<favourite>', '<layout>') |
		((id <@ '<favourite>')) | (comb_created(o, '<favourite>', '<layout>'), id) | (comb_timestamp(id)) |
		(comb_timestamp(o, '<layout>')) | ((coalesce(id, o))) | (id) WHERE k < 5 | 4 (s) | (id) WHERE comb_timestamp(id) >= '<instant>' | USING hash (id) |
		USING gist (id) | USING gist (id, p)
brin: CREATE INDEX ON <t> USING brin (id) WITH (pages_per_range = 1) |
		CREATE INDEX ON <t> USING brin (o) WITH (pages_per_range = 2) |
		CREATE INDEX ON <t> USING brin (id uuid_minmax_multi_ops) WITH (pages_per_range = 1) |
		CREATE INDEX ON <t> USING brin (id uuid_bloom_ops) WITH (pages_per_range = 1)

setting: enable_indexscan = off | enable_bitmapscan = off | enable_indexonlyscan = off |
		enable_nestloop = off | enable_hashjoin = off | enable_mergejoin = off | enable_material = off |
		enable_memoize = off | enable_sort = off | enable_hashagg = off | enable_partition_pruning = off |
		enable_partitionwise_join = on | enable_partitionwise_aggregate = on | constraint_exclusion = on |
		from_collapse_limit = 1 | join_collapse_limit = 1 | random_page_cost = 0.1
};

my %alternatives;
my $symbol;
$grammar =~ s/\n\t\t/ /g;
for my $line (split(/\n/, $grammar))
{
	if ($line =~ /^\t(\d+)\t(.*)/) { push @{ $alternatives{$symbol} }, [ $1, $2 ] }
	elsif ($line =~ /^(\w+): (.*)/) { $alternatives{$1} = [ map { /^(\d+) (.*)/ ? [ $1, $2 ] : [ 1, $_ ] } split(/ \| /, $2) ] }
	else { $symbol = $line }
}

my $columns = 'n int, id uuid, d fuzz.key, k int, o uuid, p tstzrange, s bigint';
my $start   = 1767225600;    # 2026-01-01
my %layouts = (
	'PostgreSQL' => [qw(uuidv7 ulid rtcomb_postgresql rtcomb_postgresql_datetime sequential_string masstransit_sequential uuidv6
		laravel uuid7_pypi uuidv1_swapped behind_v4)],
	'SQL Server' => [qw(rtcomb_sql rtcomb_legacy nhibernate sequential_end morris efcore masstransit)],
	'none' => [qw(rtcomb_binary rtcomb_binary_datetime sequential_binary uuidv1 newsequentialid hibernate)]);


# A zone's clock goes on or back at midnight, skips a day, or is changed by half an hour.
my @changes = (
	1774735200,    # Beirut, 2026-03-29
	1775358000,    # Santiago, 2026-04-05
	1325239200,    # Apia has no 2011-12-30
	1775314800,    # Lord Howe, 2026-04-05
	1772953200,    # New York, 2026-03-08
	63593070,      # Monrovia, 1972-01-07
	1772841600);   # J66 of zones that POSIX writes

sub one_in { return int(rand($_[0])) == 0; }
sub from_to { return $_[0] + int(rand($_[1] - $_[0] + 1)); }
sub pick { return $_[ int(rand(@_)) ]; }
sub as_written { return $_[0] =~ s/\{([^{}|]*)\|[^{}|]*\}/$1/gr; }
sub as_brute { return $_[0] =~ s/\{[^{}|]*\|([^{}|]*)\}/$1/gr; }
sub literal { return defined $_[0] ? "'$_[0]'" : 'NULL'; }

# Keys and periods share a few instants, so that keys are at the ends of periods.
sub near
{
	my ($self) = @_;
	return pick(@{ $self->{instants} }) +
	  pick(0, 0, 0, 1, -1, 500, -500, 1000, -1000, 2000, from_to(-86_400, 86_400) * 1_000_000);
}

sub instant
{
	my ($us) = @_;
	return strftime('%Y-%m-%d %H:%M:%S', gmtime(int($us / 1_000_000))) . sprintf('.%06d+00', $us % 1_000_000);
}

# Two instants
sub in_order
{
	my ($self) = @_;
	return map { instant($_) } sort { $a <=> $b } ($self->near, $self->near);
}

# Two to four ranges of keys, and a default partition.  Bounds that are nearer could be
# the same in units of the layout.  The first partition has its columns in another order.
sub ranges
{
	my ($self, $env, $column, $suffix) = @_;
	my $parent = $env->{t} . ($suffix // '');
	my $layout = $column eq 'id' || $self->{order} eq 'none' ? '' : ", '$self->{layout}'";
	my (@at, @ddl);

	for my $at (sort { $a <=> $b } map { $self->near } 1 .. from_to(1, 3))
	{
		push @at, $at if !@at || $at > $at[-1] + 1_000_000;
	}
	my @bounds = ('MINVALUE', (map { "comb_min('" . instant($_) . "'$layout)" } @at), one_in(2) ? 'MAXVALUE' : ());
	for my $i (1 .. $#bounds)
	{
		push @ddl, "CREATE TABLE ${parent}_$i (" . ($i == 1 ? join(', ', reverse split(/, /, $columns)) : $columns) . ')',
		  "ALTER TABLE $parent ATTACH PARTITION ${parent}_$i FOR VALUES FROM ($bounds[$i - 1]) TO ($bounds[$i])";
	}
	return join(';', @ddl, "CREATE TABLE ${parent}_default PARTITION OF $parent DEFAULT");
}

# A table under an alias, in both forms
sub relation
{
	my ($self, $alias, $table) = @_;
	$self->{query}{tables}{$table} = 1;
	$self->{query}{last} = $table;
	return "{$table|" . $self->rows($table) . "} $alias";
}

sub rows
{
	my ($self, $table) = @_;
	my $where = $self->{tables}{$table}{where};
	return $where ? "(SELECT * FROM base WHERE $where)" : 'base';
}

my %special = (
	x => sub { my ($self, $env) = @_; return pick(grep { $_ ne 'w' } @{ $env->{scope} }); },
	w => sub { return 'w'; },
	nothing => sub { return ''; },
	int => sub { my ($self, $env, @ends) = @_; return from_to(@ends); },
	instant => sub { my ($self) = @_; return instant($self->near); },
	span => sub { my ($self) = @_; return join(',', $self->in_order); },
	two_ends => sub { my ($self) = @_; return join(', ', map { one_in(6) ? 'NULL' : "'$_'" } $self->in_order); },
	uuid => sub { return sprintf("'%08x-%04x-%04x-%04x-%012x'", map { int(rand($_)) } 2**32, 2**16, 2**16, 2**16, 2**48); },
	strict => sub { my ($self, $env) = @_; return $env->{c} =~ s/=//r; },
	key_text => sub { my ($self) = @_; my $ms = int($self->near / 1000); return sprintf('%08x-%04x-7%03x-%04x-%012x', $ms >> 16, $ms & 0xffff, int(rand(4096)), 0x8000 + int(rand(0x4000)), int(rand(2**48))); },
	favourite => sub { my ($self) = @_; return pick(@{ $self->{favourites} }); },
	any_layout => sub { return pick(map { @{ $layouts{$_} } } sort keys %layouts); },
	columns => sub { return $columns; },
	ranges => \&ranges,
	remainders => sub {
		my ($self, $env, $of) = @_;
		my $t = $env->{t} . ($of // '');
		return join(';', map { "CREATE TABLE ${t}_r$_ PARTITION OF $t FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2);
	},
	# The first table is a heap with many indexes, and comes more often.
	table => sub { my ($self, $env, $alias) = @_; return $self->relation($alias // $env->{scope}[0], pick('t1', 't1', sort keys %{ $self->{tables} })); },
	# Only a clause that is replaced can be mistaken in grouping sets, and that is any
	# clause on a partitioned table.
	partitioned => sub { my ($self, $env, $alias) = @_; return $self->relation($alias, 't3'); },
	again => sub { my ($self, $env, $alias) = @_; return $self->relation($alias, $self->{query}{last}); },
	# PostgreSQL has to find the type of this operand.
	bare => sub { my ($self, $env) = @_; return one_in(2) ? $env->{p} =~ s/^('[^']*'|\$\d+)::tstzrange$/$1/r : $env->{p}; },
	# A parameter, with a value for each execution
	param => sub {
		my ($self, $env, $type, $of, @arguments) = @_;
		my $parameters = $self->{query}{parameters};
		my @values = map { one_in(12) && $type ne 'int' ? undef : $self->replaced($env, $of, @arguments) } 1 .. $self->{query}{executions};
		push @$parameters, { type => $type, values => \@values };
		return '$' . @$parameters;
	},
	# A table for the statement to change
	changed => sub {
		my ($self, $env) = @_;
		$env->{name} = pick(grep { $self->{tables}{$_}{writable} } sort keys %{ $self->{tables} });
		$env->{rows} = $self->rows($env->{name});
		$self->relation('x', $env->{name});
		$self->{query}{change} = 1;
		return '';
	},
	conflict => sub {
		my ($self, $env) = @_;
		@$env{qw(arbiter known)} = @{ $self->{arbiter} };
		$self->{query}{tables}{t7} = 1;
		$self->{query}{change} = 1;
		return '';
	});

# What a symbol becomes
sub replaced
{
	my ($self, $env, $symbol, @arguments) = @_;
	return $env->{$symbol} if exists $env->{$symbol};
	return $self->{$symbol} if $symbol =~ /^(?:layout|schema|other_order)$/;
	return $special{$symbol}->($self, $env, @arguments) if $special{$symbol};

	my %inner = %$env;
	$inner{scope} = [ map { $_ eq '+' ? @{ $env->{scope} } : $_ } @arguments ] if @arguments;
	$inner{depth}++ if $symbol eq 'condition';
	my $w  = grep { $_ eq 'w' } @{ $inner{scope} };
	my $of = $alternatives{$symbol} or die "the grammar has no $symbol";
	my @usable = grep {
		local $_ = $_->[1];
		($w || !/<w>/) && (@{ $inner{scope} } > $w || !/<(?:\w=)?x>/)
		  && ($self->{query}{executions} || !/<param /)
	} @$of;
	@usable = $usable[0] if $symbol eq 'condition' && $inner{depth} > 3;
	return $self->expand(\%inner, pick(map { ($_->[1]) x $_->[0] } @usable));
}

sub expand
{
	my ($self, $env, $text) = @_;
	my $replace = sub {
		my ($name, $symbol, @arguments) = @_;
		my $value = $self->replaced($env, $symbol, @arguments);
		return $value unless defined $name;
		$env->{$name} = $value;
		return '';
	};
	$text =~ s/<(?:(\w+)=)?(\w+)((?: [\w+-]+)*)>/$replace->($1, $2, split(' ', $3))/ge;
	return $text;
}

sub new
{
	my ($class, $seed, $count) = @_;
	my $self = bless { seed => $seed, schema => "round_$seed", tables => {} }, $class;
	srand($seed);

	$self->{order} = pick(('SQL Server') x 5, ('PostgreSQL') x 4, 'none');
	$self->{layout} = pick(@{ $layouts{ $self->{order} } });
	$self->{other_order} = $self->{order} eq 'SQL Server' ? 'o comb_mssql_ops' : 'o';
	$self->{instants} = [ map { ($start + from_to(0, 90 * 86_400)) * 1_000_000 + pick(0, 0, 0, from_to(0, 999) * 1000, from_to(0, 999_999)) } 1 .. 10 ];
	push @{ $self->{instants} }, map { pick(@changes) * 1_000_000 } 1 .. 3;
	my $get = sub { my ($symbol, %env) = @_; return $self->replaced({ scope => [], %env }, $symbol); };
	$self->{favourites} = [ map { $get->('period_text') } 1 .. 4 ];
	my ($p, $q) = @{ $self->{favourites} };

	$self->{at} = $get->('instant');
	$self->{zone} = pick('UTC', 'America/New_York', 'Asia/Kathmandu', 'Asia/Beirut', 'America/Santiago', 'Pacific/Apia', 'Australia/Lord_Howe', 'A+9B-9,J66,J67');
	$self->{base} = join(";\n", "CREATE SCHEMA $self->{schema}", "SET search_path = $self->{schema}, public",
		"CREATE TABLE base ($columns)",
		'INSERT INTO base VALUES ' . join(",\n", map { $get->('base_row', i => $_) } 1 .. pick(50, 200, 300, 400, 500)),
		'VACUUM FULL base');
	$self->{ddl} = join(";\n", 'CREATE TABLE during (i int, p tstzrange, q comb_period, since timestamptz, until timestamptz, l text)',
		'INSERT INTO during VALUES ' . join(",\n", map { $get->('during_row', i => $_) } 1 .. from_to(8, 12)),
		pick('', 'ANALYZE during', 'CREATE INDEX ON during USING gist (p)'));

	# A unique index for ON CONFLICT, on a table where any clause is replaced.  The same
	# number stands once among the rows of its predicate.
	$self->{arbiter} = pick([ "id <@ '$q'", "fuzz.brute(id, '$q')" ], [ "'$q'::tstzrange @> id", "fuzz.brute(id, '$q')" ],
		[ "comb_created(o, '$q', '$self->{layout}')", "fuzz.brute(o, '$q', '$self->{layout}')" ]);
	# Tables, what is put before them, and the rows that this leaves
	my @tables = (
		[ 't1', 'heap' ],
		[ 't2', 'few_pages' ],
		[ 't3', 'range' ],
		[ 't4', 'list' ],
		[ 't5', pick('inherited', 'range_other') ],
		[ 't6', 'foreign' ],
		[ 't11', pick('hash', 'range_hash') ],
		[ 't7', 'heap2', "CREATE UNIQUE INDEX ON t7 (n) WHERE $self->{arbiter}[0]" ],
		[ 't8', pick('heap', 'range'), "ALTER TABLE t8 ENABLE ROW LEVEL SECURITY;
			CREATE POLICY leaky ON t8 USING (fuzz.visible(k)) WITH CHECK (true);
			CREATE POLICY period ON t8 AS RESTRICTIVE USING (id <@ '$p' OR k > 4) WITH CHECK (true);
			CREATE POLICY label ON t8 AS RESTRICTIVE USING (comb_created(o, '$p', '$self->{layout}') OR k < 8) WITH CHECK (true)",
			"k IS DISTINCT FROM 3 AND (fuzz.brute(id, '$p') OR k > 4) AND (fuzz.brute(o, '$p', '$self->{layout}') OR k < 8)" ],
		[ 't9_t', pick('heap', 'range', 'foreign'), "CREATE VIEW t9 WITH (security_barrier) AS
			SELECT * FROM t9_t WHERE fuzz.visible(k) AND (id <@ '$p') IS NOT FALSE",
			"k IS DISTINCT FROM 3 AND fuzz.brute(id, '$p') IS NOT FALSE" ],
		[ 't10_t', pick('heap', 'range'), 'CREATE VIEW t10 AS SELECT * FROM t10_t WHERE k < 5 UNION ALL SELECT * FROM t1 WHERE NOT k < 5',
			'k IS NOT NULL' ],
		[ 't12', pick('heap', 'few_pages', 'range', 'list'), @{ pick(
			[ "DELETE FROM t12 WHERE comb_timestamp(id) IS NULL AND id IS NOT NULL; ALTER TABLE t12 ADD CHECK (id <@ '[1970-01-01,20000-01-01)')",
				'(comb_timestamp(id) IS NOT NULL OR id IS NULL)' ],
			[ 'DELETE FROM t12 WHERE comb_timestamp(id) IS NULL; ALTER TABLE t12 ALTER id SET NOT NULL, ADD CHECK (comb_timestamp(id) IS NOT NULL)',
				'comb_timestamp(id) IS NOT NULL' ],
			[ "DELETE FROM t12 WHERE comb_timestamp(id) IS NULL; ALTER TABLE t12 ALTER id SET NOT NULL, ADD CHECK (id <@ '[1970-01-01,20000-01-01)')",
				'comb_timestamp(id) IS NOT NULL' ],
			[ 'ALTER TABLE t12 ADD CHECK (comb_timestamp(id) IS NOT NULL) NOT VALID', 'true' ],
			[ "ALTER TABLE t12 ADD CHECK (comb_timestamp(id) > '1960-01-01')", 'true' ]) } ]);
	for my $table (@tables)
	{
		my ($t, $kind, $before, $where) = @$table;
		my $name = $t =~ s/_t$//r;
		my $rest = $kind eq 'inherited' ? ' WHERE id IS NULL' : '';
		my @fill = $kind eq 'foreign' ? () : "INSERT INTO $t SELECT * FROM base$rest ORDER BY " . pick('id', 'n', 'o', 'k, id');
		my $ddl = join(";\n", $get->($kind, t => $t), @fill, pick("ANALYZE $t", "ANALYZE $t", ''), $before // ());
		$self->{tables}{$name} = { ddl => $ddl, where => $where, writable => !@fill || $name =~ /t(?:9|10|12)/ ? 0 : 1 };
		$self->{ddl} .= ";\n$ddl";
	}
	$self->{ddl} .= ";\nGRANT USAGE ON SCHEMA $self->{schema} TO fuzz_reader;\nGRANT ALL ON ALL TABLES IN SCHEMA $self->{schema} TO fuzz_reader";
	$self->{queries} = [ map { $self->query } 1 .. $count ];
	return $self;
}

sub query
{
	my ($self) = @_;
	my $executions = rand() < 0.4 ? from_to(1, 3) : 0;

	# A query without a clause on periods tests nothing.
	do
	{
		$self->{query} = { executions => $executions, parameters => [], tables => {} };
		$self->{query}{text} = $self->replaced({ scope => [] }, 'query');
	} until $self->{query}{text} =~ /fuzz\.(?:brute|compare|made)|interval '0'/;

	# The planner reads such small tables from end to end unless told otherwise.
	my @set = one_in(2) ? 'enable_seqscan = off' : ();
	push @set, map { $self->replaced({ scope => [] }, 'setting') } 1 .. pick(0, 0, 1, 2, 3);
	push @set, 'plan_cache_mode = ' . pick('force_custom_plan', 'force_generic_plan', 'force_generic_plan', 'auto') if $executions;
	push @set, 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	  'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = 2'
	  if one_in(20);
	# Row security holds for others than the table's owner.
	push @set, 'role = fuzz_reader' if $self->{query}{tables}{t8};
	return { %{ $self->{query} }, set => [ map { "SET $_" } @set ], statements($self->{query}) };
}

# The statements of a query: to prepare it, as written and by brute force, one for each
# execution
sub statements
{
	my ($q) = @_;
	my ($written, $brute) = (as_written($q->{text}), as_brute($q->{text}));
	my @parameters = @{ $q->{parameters} };
	return (prepare => [], written => [$written], brute => [$brute]) unless @parameters;

	my (@written, @brute);
	for my $i (0 .. $q->{executions} - 1)
	{
		my @values = map { literal($_->{values}[$i]) . "::$_->{type}" } @parameters;
		push @written, 'EXECUTE q(' . join(', ', @values) . ')';
		push @brute, $brute =~ s/\$(\d+)/($values[$1 - 1])/gr;
	}
	my $prepare = 'PREPARE q(' . join(', ', map { $_->{type} } @parameters) . ") AS $written";
	return (prepare => [$prepare], written => \@written, brute => \@brute);
}

# A psql script that marks what belongs to which query
sub script
{
	my ($self) = @_;
	my $begin = "SET search_path = $self->{schema}, public; SET fuzz.at = '$self->{at}'; SET timezone = '$self->{zone}';";
	my @lines = ($begin, '\\pset null ~');
	my $end = "\\echo == :SQLSTATE\n\\if :ERROR\n\\echo :LAST_ERROR_MESSAGE\n\\endif";

	for my $i (0 .. $#{ $self->{queries} })
	{
		my $q = $self->{queries}[$i];

		push @lines, map { "$_;" } @{ $q->{set} }, @{ $q->{prepare} };
		for my $j (0 .. $#{ $q->{written} })
		{
			push @lines, "\\echo @@ $i $j written";
			push @lines, 'BEGIN;' if $q->{change};
			push @lines, "$q->{written}[$j];", $end;
			push @lines, 'ROLLBACK;' if $q->{change};
		}
		push @lines, 'DEALLOCATE ALL;', "RESET ROLE; RESET ALL; $begin";
		push @lines, map { ("\\echo @@ $i $_ brute", "$q->{brute}[$_];", $end) } 0 .. $#{ $q->{brute} };
	}
	return join("\n", @lines, '\\echo @@ end', '');
}

# Read what psql printed.  Return the number of comparisons, the number of those with
# rows, and the wrong answers, each as text with all that repeats it.
sub compare
{
	my ($self, $output) = @_;
	my ($compared, $with_rows, %answers, @wrong) = (0, 0);

	for my $part (split(/^@@ /m, $output))
	{
		next unless $part =~ s/^(\d+ \d+) (written|brute)\n//;
		my ($which, $form) = ($1, $2);
		my $status = $part =~ s/^== (\w+)\n(.*)\z//ms ? $1 : 'no answer';
		# After a good answer come the outputs of the statements between queries.
		$answers{$which}{$form} = $status eq '00000' ? [ sort split(/\n/, $part) ] : [ "error $status: " . ($2 // '') ];
	}
	for my $i (0 .. $#{ $self->{queries} })
	{
		my $q = $self->{queries}[$i];
		for my $j (0 .. $#{ $q->{written} })
		{
			my ($is, $should) = map { $answers{"$i $j"}{$_} || ['error: no answer'] } 'written', 'brute';
			$compared++;
			$with_rows++ if @$should > 0;
			next if "@$is" eq "@$should" && !grep { /^error/ } @$should;

			my %should = map { $_ => 1 } @$should;
			push @wrong, join("\n", "seed $self->{seed}, query $i:",
				(map { $self->{tables}{$_}{ddl} } sort keys %{ $q->{tables} }),
				(map { "$_;" } "SET fuzz.at = '$self->{at}'", "SET timezone = '$self->{zone}'", @{ $q->{set} }, @{ $q->{prepare} }, $q->{written}[$j]),
				'by brute force:', "$q->{brute}[$j];",
				scalar(@$is) . ' rows, ' . scalar(@$should) . ' by brute force',
				'not among those: ' . join(' ', grep { defined } (grep { !$should{$_} } @$is)[ 0 .. 7 ]));
		}
	}
	return ($compared, $with_rows, @wrong);
}

1;
