# Checks of a release that no compiler makes: the metadata, versions that must
# agree, files that must be listed, and documents that must name everything.  The
# checks need no server.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use File::Basename qw(basename dirname);
use File::Temp qw(tempdir);
use JSON::PP;
use lib 'test/perl';
use CombSeeds;
use Test::More;

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', $file) or die "could not open $file: $!";
	local $/;
	return scalar <$fh>;
}

# Fail with the list of what is missing.
sub none
{
	my ($name, @missing) = @_;
	is(join(', ', @missing), '', $name);
}

# Which of these words does a list not have?
sub unlisted
{
	my ($list, @words) = @_;
	return grep { $list !~ /(?<![^\s'])\Q$_\E(?![^\s'])/ } @words;
}

my $makefile = slurp('Makefile');
my @references = map { slurp($_) } glob('doc/pg_comb*.md');
my $reference = join('', @references);
my $changelog = slurp('CHANGELOG.md');
my @c = sort glob('src/*.c src/*/*.c');
my @sources = (@c, sort glob('src/*.h src/*/*.h'));
my %source = map { $_ => slurp($_) } @sources;

# META.json says what each extension is: its script and its documentation
my $meta = JSON::PP->new->utf8->decode(slurp('META.json'));
my @extensions = map { basename($_, '.control') } sort glob('*.control');
is(join(' ', sort keys %{ $meta->{provides} }), "@extensions", 'META.json provides the extensions');
like($meta->{version}, qr/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/, 'version of the distribution');

# The version stands in several places
my $version = $meta->{version};
my ($series) = $version =~ /^(\d+\.\d+)/;

for my $extension (@extensions)
{
	my $provided = $meta->{provides}{$extension};
	is($provided->{version}, $version, "$extension has the version of the distribution");
	is($provided->{file}, "sql/$extension--$series.sql", "META.json has the script of $extension");
	none("files of $extension exist", grep { !-f } @$provided{qw(file docfile)});
}
my %stands_in = (
	'src/comb.h' => qr/^#define COMB_VERSION\s+"\Q$version\E"$/m,
	'debian/changelog' => qr/^pg-comb \(\Q$version\E-/,
	'doc/packaging/pg_comb.spec' => qr/^Version:\s+\Q$version\E$/m,
	'CHANGELOG.md' => qr/\b\Q$version\E\b/,
	(map { ("$_.control" => qr/^default_version = '\Q$series\E'$/m) } @extensions),
	(map { ("doc/$_.md" => qr/^# $_ \Q$series\E /m) } @extensions));
like(slurp($_), $stands_in{$_}, "version in $_") for sort keys %stands_in;

# Scripts of a release stay as they are.  test/scripts.sha256 is renewed when CHANGELOG.md
# gets the release's date, and never else.
SKIP:
{
	my ($released) = $changelog =~ /^## \[?(\d+\.\d+)\.\d+\]? - \d{4}-\d\d-\d\d/m;
	skip 'the scripts of releases: CHANGELOG.md dates none', 2 unless defined $released;
	my %checksum = reverse slurp('test/scripts.sha256') =~ /^(\w{64})  (\S+)$/mg;
	none('scripts of releases have not changed', grep { !-f || sha256_hex(slurp($_)) ne $checksum{$_} } sort keys %checksum);
	none('test/scripts.sha256 has the scripts of releases', grep { !$checksum{$_} } glob("{sql,test/data}/*--$released.sql"));
}

# Lists
my $meson = slurp('doc/packaging/meson.build');
my @scripts = glob('sql/*--*.sql');
my @regress = map { basename($_, '.sql') } grep { !/--/ } glob('sql/*.sql');
none('the Makefile has all objects', unlisted($makefile, map { s/c$/o/r } @c));
none('the Makefile has all headers', unlisted($makefile, grep { /h$/ } @sources));
none('the Makefile has what is installed',
	unlisted($makefile, @scripts, glob('sql/portable/*.sql')));
none('doc/packaging/meson.build has sources and scripts', unlisted($meson, @c, @scripts));
none('pg_regress runs all tests', unlisted($makefile, @regress));

# pgindent lays out a type's name as it finds the name in the list.  A pointer to any
# other type would look like a multiplication.
my %listed = map { $_ => 1 } split(/\n/, slurp('typedefs.list'));
none('typedefs.list has our types', grep { !$listed{$_} } sort map {
	/^typedef [^;{]*?(\w+);/mg, /^typedef \w+[^;{]*\n\{.*?^\}\s*(\w+);/msg } values %source);

# These need tools: pgindent, and shellcheck, to which functions called by a name in a
# variable look unreachable (SC2317,SC2329), and optional arguments forgotten (SC2119,SC2120).
SKIP:
{
	my $diff = `make -s indent INDENT_FLAGS=--diff 2>&1`;
	skip 'pgindent comes with the development files of PostgreSQL 17', 1 if $? != 0;
	is($diff, '', 'pgindent changes nothing');
}
SKIP:
{
	my @scripts = grep { slurp($_) =~ /^#(?:!.*\bbash|.*shell=bash)$/m } grep { -f } glob('.ci/* test/* test/*/run test/*/lib.sh');
	skip 'shellcheck is not installed (Debian: shellcheck)', 1 if system('shellcheck --version >/dev/null 2>&1') != 0;
	is(`shellcheck -x -e SC2015,SC2031,SC2119,SC2120,SC2317,SC2329 @scripts 2>&1`, '', 'shellcheck has nothing to say');
}

# A model names the functions that its steps stand for
my %defined = map { $_ => 1 } map { /^(?:static inline \w+ |CREATE (?:OR REPLACE )?FUNCTION )?(comb_\w+)\(/mg }
  values %source, slurp('sql/portable/pg_comb_feed.sql');
for my $model (sort glob('test/models/*.pml'))
{
	my %named = map { $_ => 1 } slurp($model) =~ /\b(comb_\w+)\(\)/g;
	cmp_ok(scalar keys %named, '>', 3, "$model names functions");
	none("functions named in $model exist", grep { !$defined{$_} } sort keys %named);
}

# A test that waits at an injection point which nobody reaches waits for its limit.
my %point = map { $_ => 1 } map { /COMB_INJECTION_POINT\("([\w-]+)"\)/g } values %source;
none('the sources have the injection points of test/t/deep',
	grep { !$point{$_} } map { slurp($_) =~ /\b(comb(?:-\w+)+)\b/g } glob('test/t/deep/*.pl'));

# Each barrier has its pairs of accesses
my (%writer, %reader);
for (grep { /^(?:store|exchange) / } split(/\n/, slurp('test/models/barriers.list')))
{
	my (undef, $second, $writer, $reader) = split;
	$writer{$writer} = 1 if $second eq 'store';
	$reader{$reader} = 1;
}
my %barrier = map { $_ => {} } qw(read write);
for my $function (map { /^(comb_\w+\(.*?^\})/msg } @source{ grep { m{/ordered/.*c$} } @sources })
{
	my ($name) = $function =~ /^(\w+)/;
	$barrier{$_}{$name} = 1 foreach $function =~ /\bpg_(\w+)_barrier\(\)/g;
}
is_deeply($barrier{read},  \%reader, 'barriers.list has the functions with a read barrier');
is_deeply($barrier{write}, \%writer, 'barriers.list has the functions with a write barrier');

# Each seeded fault of the models still fits: the text that it replaces stands in exactly one
# place.  test/mutants, which is run before a release, looks at its own list: here it would be
# a toll on each change of src.
none('twins.list fits the models and the sources', map {
	my ($twin, $name) = ($_, $_->{run} =~ /^(\S+)/);
	my $source = slurp($name =~ /\./ ? "src/$name" : "test/models/$name.pml");
	(grep { places_of($source, @$_) != 1 } @{ $twin->{places} }) ? $twin->{title} : ();
} seeds('test/models/twins.list'));

# Each file includes only headers above it in the tables of src/README.md, or in its own row.
my %row;
for (slurp('src/README.md') =~ /^\| (\S*comb\S*\.\S.*?) \|/mg)
{
	my $row = 1 + keys %row;
	$row{$_} = $row for map { s{^\.\./}{}; /(.*)\[ch\]$/ ? ("$1c", "$1h") : $_ } split /, /;
}
none('src/README.md has all files of src', grep { !$row{$_} } map { basename($_) } @sources);
none('files of src include only files above them', map {
	my ($path, $file) = ($_, basename($_));
	map { "$file: $_" } grep { $row{$_} > $row{$file} } $source{$path} =~ /^#include "(?:[\w.]+\/)?(comb\w*\.h)"$/mg;
} @sources);

# So it calls only functions of files above it.
my %home;
for my $path (@c)
{
	$home{$_} = $row{ basename($path) } for $source{$path} =~ /^(?!static|Datum)\w[\w ]*[* ]*\n(comb_\w+)\(/mg;
}
cmp_ok(scalar keys %home, '>', 50, 'files of src have functions for each other');
none('files of src call only files above them', map {
	my ($file, $code) = (basename($_), $source{$_} =~ s{/\*.*?\*/}{}grs);
	map { "$file: $_" } grep { ($home{$_} // 0) > $row{$file} } $code =~ /\b(comb_\w+)\b/g;
} @c);

# In its drawings a function calls those that are indented below it.
my %body;
for my $code (values %source)
{
	$body{$1} = $2 while $code =~ /^(?:\w[\w ]*[* ]*\n)(comb_\w+)\((.*?^\})/msg;
}
my ($drawn, @undrawn) = (0);
for my $drawing (slurp('src/README.md') =~ /^```\n(.*?)^```$/msg)
{
	my @callers;
	while ($drawing =~ /^( *)(\w+)\(\)/mg)
	{
		my ($depth, $function) = (length($1) / 4, $2);
		push @undrawn, $function if $depth > 0 && ($body{ $callers[ $depth - 1 ] } // '') !~ /\b$function\b/;
		$callers[$depth] = $function;
		$drawn++;
	}
}
cmp_ok($drawn, '>', 30, 'src/README.md has drawings');
none('functions call what the drawings of src/README.md show', @undrawn);

# Only comb_compat.h looks at the server's version
none('PG_VERSION_NUM only in comb_compat.h',
	grep { !m{/comb_compat\.h$} && $source{$_} =~ /PG_VERSION_NUM/ } @sources);

# The reference describes every function and setting once, and the list at its top leads to
# each.  Return the text below each heading of this name, or its row in a table, which may
# have a second function.
sub entries
{
	my ($heading) = @_;
	return ($reference =~ /^### \Q$heading\E\n(.*?)(?=^##|\z)/msg,
		$reference =~ /^\| (?:`[^`]+`, )?`\Q$heading\E\([^`]*`(?:, `[^`]+`)? \| (.*) \|$/mg);
}

my $script = join('', map { slurp("sql/$_--$series.sql") } @extensions);
my %function = map { $_ => 1 } $script =~ /^CREATE FUNCTION (\w+)\(/mg;
$function{$_} = 1 for $script =~ /^\t*CREATE AGGREGATE (\w+)\(/mg;
# An operator stands for its function, and an aggregate for its transition function.
# The support functions of an operator class are left out, because only the server can
# call them.
delete $function{$_} for $script =~ /^\t*S?FUNC(?:TION)? = (\w+)/mg;
delete $function{$_} for $script =~ /^CREATE FUNCTION (\w+)\(internal\b/mg;
none('the reference has the operators', grep { $reference !~ /`\Q$_\E`/ } $script =~ /^CREATE OPERATOR (?!CLASS\b|FAMILY\b)(\S+) \(/mg);

my @functions = sort keys %function;
my %setting = map { $_ => 1 } map { /"(pg_comb\.\w+)"/g } @source{@c};
my @settings = sort keys %setting;
my $list = join('', map { /^(.*?)^## /ms } @references);
ok(@functions && @settings, 'the scripts create functions, and the module has settings');
none('the reference has functions and settings once', grep { (() = entries($_)) != 1 } @functions, @settings);
none('the list at its top has them', grep { $list !~ /\[\Q$_\E\]\(#/ } @functions, @settings);
none('the reference has an example of each', grep { my $name = $_; !grep { /\b\Q$name\E\(/ } map { /^```(?:sql|sql pattern|result)\n(.*?)^```$/msg } @references }
	  grep { !/^comb_(?:mssql_(?:lt|le|ge|gt)|contain\w+|\w*support|mssql_sortsupport)$/ } @functions);
none('the changelog has them', grep { $changelog !~ /`\Q$_\E\b/ } @functions, @settings);
none('the reference has the defaults of settings', grep { join('', entries($_)) !~ /^The default is `[^`]+`\.$/m } @settings);

SKIP:
{
	skip 'findings/ is not in archives', 1 unless -d 'findings';
	ok(index(slurp('findings/README.md'), scalar(`findings/contents`)) > 0, 'findings/README.md has the tables of findings/contents');
}

# operations.md explains every message that the sources have, with its SQLSTATE and
# with "…" in place of values, and no other message.
sub messages
{
	my %sqlstate = qw(
		ACTIVE_SQL_TRANSACTION 25001 DATA_CORRUPTED XX001 E_R_I_E_TRIGGER_PROTOCOL_VIOLATED 39P01 UNDEFINED_COLUMN 42703 DATA_EXCEPTION 22000 DATETIME_VALUE_OUT_OF_RANGE 22008 FEATURE_NOT_SUPPORTED 0A000
		NUMERIC_VALUE_OUT_OF_RANGE 22003 PROGRAM_LIMIT_EXCEEDED 54000 INTERNAL_ERROR XX000 INVALID_PARAMETER_VALUE 22023 INVALID_TEXT_REPRESENTATION 22P02
		INVALID_TRANSACTION_STATE 25000 UNDEFINED_OBJECT 42704 OBJECT_IN_USE 55006 OBJECT_NOT_IN_PREREQUISITE_STATE 55000
		READ_ONLY_SQL_TRANSACTION 25006 T_R_SERIALIZATION_FAILURE 40001);
	my %messages;
	for my $file (@sources)
	{
		while ($source{$file} =~ /\b(ereport|elog)\((ERROR|WARNING|FATAL|NOTICE|INFO),\s*(.*?)\);\n/gs)
		{
			my ($call, $level, $text) = ($1, $2, $3);
			my ($message) = ($call eq 'elog' ? $text : $text =~ /\berrmsg\w*\((.*)/s ? $1 : '') =~
			  /^((?:"(?:[^"\\]|\\.)*"|\s|[U]?INT64_FORMAT)+)/;
			my $code = $call eq 'elog' ? 'XX000' : $level eq 'WARNING' ? '01000' : '?';
			$code = $sqlstate{$1} || "SQLSTATE of $1" if $text =~ /\berrcode\(ERRCODE_(\w+)\)/;
			die "no message in $file: $text" unless defined $message;
			$message =~ s/U?INT64_FORMAT/"%d"/g;
			$message = join('', $message =~ /"((?:[^"\\]|\\.)*)"/g) =~ s/\\(.)/$1/gr;
			$messages{ $message =~ s/%\w/…/gr } = $code;
		}
	}
	while ($script =~ /\bRAISE EXCEPTION '([^']+)'.*?ERRCODE = '(\w+)'/gs)
	{
		$messages{ $1 =~ s/%/…/gr } = $sqlstate{ uc $2 } || "SQLSTATE of $2";
	}
	return %messages;
}

my %message = messages();
my ($section) = slurp('doc/operations.md') =~ /^## Messages\n(.*?)(?=^## |\z)/ms;
my %explained = $section =~ /^- `([^`]+)` (\w{5}):\s/mg;
cmp_ok(scalar keys %message, '>', 20, 'the sources have messages');
is_deeply(\%explained, \%message, 'operations.md has the messages of the sources, with their SQLSTATE, and no others');

# A recipe has a name after its language, and a test runs it by this name.  test/examples
# runs SQL without a name, and leaves out what is marked as a pattern.
my $tests = join('', map { slurp($_) } glob('test/t/*.pl test/t/long/*.pl test/cluster/*.pl test/perl/CombSoak.pm'));
for my $page ('doc/feed.md', 'doc/feed_anywhere.md', 'doc/feed_readers.md', 'doc/topologies.md')
{
	my @blocks = slurp($page) =~ /^```(\w.*)\n/mg;
	my @names = map { /^(?:sql|sh|console(?: varies)?) ([\w-]+)$/ } @blocks;
	none("tests run all recipes of $page", grep { $_ ne 'pattern' && $tests !~ /\brecipe\('\Q$_\E'\)/ } @names);
	none("the recipes of $page have names", grep { $page =~ /feed/ && /^(?:sql|sh)$/ } @blocks);
}

# Snippets of clients: each line is a line of the program that the link above names, and every program has a snippet.
my $clients = slurp('doc/clients.md') . slurp('doc/libraries.md');
my %shown;

my $program;

while ($clients =~ m{^\[[^\]]+\]\(\.\./(test/clients/[^)]+)\)\n\n|^```(?!console|sql$)\w+(?: pattern)?\n(.*?)^```$}msg)
{
	my ($file, $snippet) = ($1, $2);
	$program = $file if defined $file;
	next unless defined $snippet;
	my %line = map { s/^\s+|\s+$//gr => 1 } split /\n/, slurp($program);
	$shown{$program} = 1;
	none("the snippet of $program has its lines", grep { !$line{$_} } map { s/^\s+|\s+$//gr } split /\n/, $snippet);
}
# A program whose snippet would be that of another one has a link.
$shown{$_} = 1 for $clients =~ m{\]\(\.\./(test/clients/[^)]+)\)}g;
none('doc/clients.md shows every client',
	grep { !m{/(?:common|feed|pg-feed|psycopg3-feed|jdbc-feed)\.} && !$shown{$_} } glob('test/clients/*.{mjs,py,go,java,rs,rb,php,pl,cs}'));

# Links lead somewhere
sub anchors
{
	return map { my $a = lc; $a =~ s/[^\w\s-]//g; $a =~ s/ /-/g; ($a => 1) }
	  slurp($_[0]) =~ /^#+ (.*)$/mg;
}

sub broken_links
{
	my ($file) = @_;
	my @broken;
	for my $link (slurp($file) =~ /\]\(([^)]+)\)/g)
	{
		next if $link =~ /^https?:/;
		my ($path, $anchor) = split /#/, $link, 2;
		my $target = $path eq '' ? $file : dirname($file) . "/$path";
		my %known = -f $target && $target =~ /\.md$/ ? anchors($target) : ();
		push @broken, $link
		  if !-e $target || (defined $anchor && !$known{$anchor});
	}
	return @broken;
}

none("links of $_", broken_links($_)) for sort glob('*.md */*.md');

# A heading that stands on two pages leads a search to the wrong one.
my %headings;
$headings{$_}++ foreach map { slurp($_) =~ /^(?:##|###) (.*)$/mg } glob('doc/*.md');
none('a heading stands once', grep { $headings{$_} > 1 } sort keys %headings);

# A page is read only if it is short.  Whoever adds words takes as many away.
my ($most_words) = slurp('CONTRIBUTING.md') =~ /together have at most\s+([\d,]+)\s+words/;
$most_words =~ tr/,//d;
sub words { return map { split } map { slurp($_) } @_ }

cmp_ok(scalar(words('README.md')), '<=', 950, 'words of README.md');
cmp_ok(scalar(() = slurp('README.md') =~ /\]\(/g), '<=', 45, 'links of README.md');
cmp_ok(scalar(() = glob('doc/*.md')), '<=', 16, 'pages of doc');
cmp_ok(scalar(words('README.md', glob('doc/*.md'))), '<=', $most_words, 'words of README.md and doc');

# The installed pages lead to installed files, and each installed program is shown.
SKIP:
{
	my $there = tempdir(CLEANUP => 1);
	skip 'PostgreSQL has no development files', 4
	  if system("make -s install-documents documents=$there >/dev/null 2>&1") != 0;
	unlike(`make -n all install 2>&1`, qr/\.bc\b|bitcode/, 'no bitcode is made or installed');
	unlike(`make -n install EXTENSIONS=pg_comb 2>&1`, qr/pg_comb_ordered(?:\.control|--)|^\z|\*\*\*/, 'an extension can be left out');
	my @pages = glob("$there/*.md $there/doc/*.md $there/doc/*/*.md");
	none('links of the installed pages', map { broken_links($_) } @pages);
	my $texts = join('', map { slurp($_) } @pages);
	none('the pages show each installed program', grep { index($texts, "/$_)") < 0 }
		map { substr($_, length "$there/") } map { split(/\n/) } `find $there/test -type f`);
}

done_testing();
