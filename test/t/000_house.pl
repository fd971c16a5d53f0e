# Checks of a release that no compiler makes: the metadata, versions that must
# agree, files that must be listed, and documents that must name everything.  The
# checks need no server.

use strict;
use warnings;

use File::Basename qw(basename dirname);
use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSeeds;
use JSON::PP;
use Test::More;

chdir("$RealBin/../..") or die "could not change to the top directory: $!";

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

my $semver = qr/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/;
my $makefile = slurp('Makefile');
my @references = map { slurp($_) } glob('doc/pg_comb*.md');
my $reference = join('', @references);
my $changelog = slurp('CHANGELOG.md');

# META.json says what each extension is: its script and its documentation
my $meta = JSON::PP->new->utf8->decode(slurp('META.json'));
my @extensions = map { basename($_, '.control') } sort glob('*.control');
is(join(' ', sort keys %{ $meta->{provides} }), "@extensions", 'META.json provides the extensions');
like($meta->{version}, $semver, 'version of the distribution');

# The version stands in several places
my $version = $meta->{version};
my ($series) = $version =~ /^(\d+\.\d+)/;

for my $extension (@extensions)
{
	my $provided = $meta->{provides}{$extension};
	is($provided->{version}, $version, "$extension has the version of the distribution");
	is($provided->{file}, "sql/$extension--$series.sql", "META.json has the script of $extension");
	ok(-f $provided->{$_}, "$extension: $_ exists") for qw(file docfile);
	like(slurp($provided->{docfile}), qr/^# $extension \Q$series\E /m, "version in the reference of $extension");
	like(slurp("$extension.control"), qr/^default_version = '\Q$series\E'$/m, "version in the control file of $extension");
	like($makefile, qr{\bsql/\Q$extension--$series\E\.sql\b}, "the script of $extension is installed");
}
like(slurp('src/comb.h'), qr/^#define COMB_VERSION\s+"\Q$version\E"$/m, 'version in comb.h');
like(slurp('debian/changelog'), qr/^pg-comb \(\Q$version\E-/, 'version in debian/changelog');
like(slurp('doc/packaging/pg_comb.spec'), qr/^Version:\s+\Q$version\E$/m, 'version in the RPM spec');
like($changelog, qr/\b\Q$version\E\b/, 'version in the changelog');

# Lists in the Makefile
my $meson = slurp('doc/packaging/meson.build');
for my $file (sort glob('src/*.c src/ordered/*.c'))
{
	my $object = $file =~ s/c$/o/r;
	like($makefile, qr/(?<!\S)\Q$object\E(?!\S)/, "$object is linked");
	like($meson, qr/'\Q$file\E'/, "$file is in doc/packaging/meson.build");
}
for my $file (sort glob('src/*.h src/ordered/*.h'))
{
	like($makefile, qr/(?<!\S)\Q$file\E(?!\S)/, "$file is a dependency");
}
for my $file ('README.md', sort glob('doc/*.md'), sort glob('doc/*.svg'))
{
	like($makefile, qr/(?<!\S)\Q$file\E(?!\S)/, "$file is installed");
}
for my $file (sort glob('sql/*.sql'))
{
	my $name = basename($file, '.sql');
	if ($name =~ /--/)
	{
		like($makefile, qr/(?<!\S)\Q$file\E(?!\S)/, "$file is installed");
		like($meson, qr/'\Q$file\E'/, "$file is in doc/packaging/meson.build");
		next;
	}
	like($makefile, qr/(?<!\S)\Q$name\E(?!\S)/, "test $name runs");
	ok(-f "expected/$name.out", "test $name has an expected output");
}

for my $file (sort glob('sql/portable/*.sql'))
{
	like($makefile, qr/(?<!\S)\Q$file\E(?!\S)/, "$file is installed");
}

# pgindent lays out a type's name as it finds the name in the list.  A pointer to any
# other type would look like a multiplication.
my @c = map { [ $_, slurp($_) ] } glob('src/*.[ch] src/ordered/*.[ch] test/*.c');
my %word = map { $_ => 1 } map { $_->[1] =~ /\b([A-Za-z_]\w*)\b/g } @c;
my %listed = map { $_ => 1 } split(/\n/, slurp('typedefs.list'));
none('typedefs.list names no type that the sources do not use', grep { !$word{$_} } sort keys %listed);
none('typedefs.list has our types', grep { !$listed{$_} } sort map {
	$_->[1] =~ /^typedef [^;{]*?(\w+);/mg, $_->[1] =~ /^typedef \w+[^;{]*\n\{.*?^\}\s*(\w+);/msg } @c);
is(join("\n", sort keys %listed) . "\n", join("\n", sort split(/\n/, slurp('typedefs.list'))) . "\n",
	'typedefs.list has each type once');

# These need tools: pgindent, and shellcheck, to which functions called by a name in a
# variable look unreachable (SC2317).
SKIP:
{
	my $diff = `make -s indent INDENT_FLAGS=--diff 2>&1`;
	skip 'pgindent is not installed (Debian: postgresql-server-dev-17 or later)', 1 if $? != 0;
	is($diff, '', 'pgindent changes nothing');
}
SKIP:
{
	my @scripts = grep { slurp($_) =~ /^#(?:!.*\bbash|.*shell=bash)$/m } grep { -f } glob('.ci/* test/* test/*/run test/*/lib.sh');
	skip 'shellcheck is not installed', 1 if system('shellcheck --version >/dev/null 2>&1') != 0;
	is(`shellcheck -x -e SC2015,SC2031,SC2317 @scripts 2>&1`, '', 'shellcheck has nothing to say');
}

# A model names the functions that its steps stand for
my %defined = map { $_ => 1 } map { slurp($_) =~ /^(?:static inline \w+ |CREATE FUNCTION )?(comb_\w+)\(/mg }
  glob('src/*.[ch] src/*/*.[ch] sql/portable/pg_comb_feed.sql');
for my $model (sort glob('test/models/*.pml'))
{
	my %named = map { $_ => 1 } slurp($model) =~ /\b(comb_\w+)\(\)/g;
	cmp_ok(scalar keys %named, '>', 3, "$model names functions");
	none("functions named in $model exist", grep { !$defined{$_} } sort keys %named);
}

# A test that waits at an injection point which nobody reaches waits for its limit.
my %point = map { $_ => 1 } map { slurp($_) =~ /COMB_INJECTION_POINT\("([\w-]+)"\)/g } glob('src/*.[ch] src/*/*.[ch]');
none("the sources have the injection points of $_", do { my $file = $_; grep { !$point{$_} } slurp($file) =~ /\b(comb(?:-\w+)+)\b/g })
  foreach (glob('test/t/deep/*.pl'));

# Each barrier has its pairs of accesses
my (%writer, %reader);
for (grep { /^(?:store|exchange) / } split(/\n/, slurp('test/models/barriers.list')))
{
	my (undef, $second, $writer, $reader) = split;
	$writer{$writer} = 1 if $second eq 'store';
	$reader{$reader} = 1;
	none("functions of barriers.list exist: $writer, $reader", grep { !$defined{$_} } $writer, $reader);
}
my %barrier = map { $_ => {} } qw(read write);
for my $source (map { slurp($_) } glob('src/ordered/*.c'))
{
	for my $function ($source =~ /^(comb_\w+\(.*?^\})/msg)
	{
		my ($name) = $function =~ /^(\w+)/;
		$barrier{$_}{$name} = 1 foreach $function =~ /\bpg_(\w+)_barrier\(\)/g;
	}
}
is_deeply($barrier{read},  \%reader, 'barriers.list has the functions with a read barrier');
is_deeply($barrier{write}, \%writer, 'barriers.list has the functions with a write barrier');

# Each seeded fault of the models still fits: the text that it replaces stands in exactly one
# place.  test/mutants, which is run before a release, looks at its own list: here it would be
# a toll on each change of src.
none('twins.list fits the models and the sources', map {
	my ($twin, $name) = ($_, $_->{run} =~ /^\w+ (\S+)/);
	my $source = slurp($name =~ /\./ ? "src/$name" : "test/models/$name.pml");
	(grep { places_of($source, $_->[0]) != 1 } @{ $twin->{places} }) ? $twin->{title} : ();
} seeds('test/models/twins.list'));

# Each file uses only files above it in the tables of src/README.md, or in its own row.
# A header's inline functions may call what the header declares.
my (%row, %included, %code, %definer, %declared);
for (slurp('src/README.md') =~ /^\| (\S*comb\S*\.\S.*?) \|/mg)
{
	my $row = 1 + keys %row;
	$row{$_} = $row for map { s{^\.\./}{}; /(.*)\[ch\]$/ ? ("$1c", "$1h") : $_ } split /, /;
}
for my $path (glob('src/*.[ch] src/ordered/*.[ch]'))
{
	my $file = basename($path);
	my $source = slurp($path) =~ s{/\*.*?\*/}{}gsr;
	$included{$file} = [ $source =~ /^#include "(comb\w*\.h)"$/mg ];
	$declared{$file}{$_} = 1 for $source =~ /^extern [^;]*?\b(comb_\w+)\(/mg;
	# neither prototypes nor strings call anything
	$code{$file} = $source =~ s/^extern [^;]*;|"(?:[^"\\\n]|\\.)*"//mgr;
	$definer{$_} = $file for $source =~ /^(?:static (?:inline|pg_\w+) .*?)?(comb_\w+)\([^;]*?\)\n\{/mg;
}
none('src/README.md has all files of src', grep { !$row{$_} } sort keys %code);
cmp_ok(scalar keys %definer, '>', 200, 'the sources define functions');
for my $file (sort keys %code)
{
	my @called = grep { !$declared{$file}{$_} } $code{$file} =~ /\b(comb_\w+)/g;
	my @used = (@{ $included{$file} }, map { $definer{$_} // () } @called);
	my %below = map { $_ => 1 } grep { $row{$_} > $row{$file} } @used;
	none("$file uses only files above it", sort keys %below);
}

# Only comb_compat.h looks at the server's version
none('PG_VERSION_NUM only in comb_compat.h',
	grep { !m{/comb_compat\.h$} && slurp($_) =~ /PG_VERSION_NUM/ } glob('src/*.[ch] src/ordered/*.[ch]'));

# The reference describes every function and setting once, and the list at its top
# leads to each.
sub section
{
	my ($document, $heading) = @_;
	return $document =~ /^## \Q$heading\E\n(.*?)(?=^## |\z)/ms ? $1 : '';
}

# Return the text below each heading of this name in the reference, or its row in the
# table of functions that only plans show.
sub entries
{
	my ($heading) = @_;
	return ($reference =~ /^### \Q$heading\E\n(.*?)(?=^##|\z)/msg,
		$reference =~ /^\| `\Q$heading\E\([^`]*` \| (.*) \|$/mg);
}

my $script = join('', map { slurp("sql/$_--$series.sql") } @extensions);
my %function = map { $_ => 1 } $script =~ /^CREATE FUNCTION (\w+)\(/mg;
$function{$_} = 1 for $script =~ /^\t*CREATE AGGREGATE (\w+)\(/mg;
# An operator stands for its function, and an aggregate for its transition function.
# The support functions of an operator class are left out, because only the server can
# call them.
delete $function{$_} for $script =~ /^\t*S?FUNC(?:TION)? = (\w+)/mg;
delete $function{$_} for $script =~ /^CREATE FUNCTION (\w+)\(internal\b/mg;
for my $operator ($script =~ /^CREATE OPERATOR (?!CLASS\b|FAMILY\b)(\S+) \(/mg)
{
	like($reference, qr/`\Q$operator\E`/, "reference has $operator");
}

my $list = join('', map { /^(.*?)^## /ms } @references);
cmp_ok(scalar keys %function, '>', 0, 'the script creates functions');
for my $name (sort keys %function)
{
	my @entries = entries($name);
	is(scalar @entries, 1, "reference has $name once");
	like($list, qr/\[$name\]\(#/, "the list has $name");
	like($changelog, qr/`$name\b/, "changelog has $name");
}
my %setting = map { $_ => 1 } map { slurp($_) =~ /"(pg_comb\.\w+)"/g } glob('src/*.c src/ordered/*.c');
cmp_ok(scalar keys %setting, '>', 0, 'the module has settings');
for my $name (sort keys %setting)
{
	my @entries = entries($name);
	is(scalar @entries, 1, "reference has $name once");
	like(join('', @entries), qr/^The default is `[^`]+`\.$/m, "reference has the default of $name");
	like($list, qr/\[\Q$name\E\]\(#/, "the list has $name");
	like($changelog, qr/`\Q$name\E`/, "changelog has $name");
}

# operations.md explains every message that the sources have, with its SQLSTATE and
# with "…" in place of values, and no other message.
sub messages
{
	my %sqlstate = (
		DATA_CORRUPTED => 'XX001',
		DATA_EXCEPTION => '22000',
		DATETIME_VALUE_OUT_OF_RANGE => '22008',
		FEATURE_NOT_SUPPORTED => '0A000',
		PROGRAM_LIMIT_EXCEEDED => '54000',
		INTERNAL_ERROR => 'XX000',
		INVALID_PARAMETER_VALUE => '22023',
		INVALID_TEXT_REPRESENTATION => '22P02',
		INVALID_TRANSACTION_STATE => '25000',
		OBJECT_IN_USE => '55006',
		OBJECT_NOT_IN_PREREQUISITE_STATE => '55000',
		READ_ONLY_SQL_TRANSACTION => '25006');
	my %messages;
	for my $file (glob('src/*.[ch] src/ordered/*.[ch]'))
	{
		my $source = slurp($file);
		while ($source =~ /\b(ereport|elog)\((ERROR|WARNING|FATAL|NOTICE|INFO),\s*(.*?)\);\n/gs)
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
	for my $file (glob('sql/*--1.0.sql'))
	{
		my $script = slurp($file);
		while ($script =~ /\bRAISE EXCEPTION '([^']+)'.*?ERRCODE = '(\w+)'/gs)
		{
			$messages{ $1 =~ s/%/…/gr } = $sqlstate{ uc $2 } || "SQLSTATE of $2";
		}
	}
	return %messages;
}

my %message = messages();
my %explained = map { /^\| `([^`]+)` \| (\w{5}) \| / ? ($1 => $2) : () }
  split /\n/, section(slurp('doc/operations.md'), 'Messages');
cmp_ok(scalar keys %message, '>', 20, 'the sources have messages');
for my $message (sort keys %message)
{
	is($explained{$message}, $message{$message}, "operations.md has: $message");
}
none('operations.md has no message that the sources do not have',
	grep { !$message{$_} } sort keys %explained);

# The consumer in JavaScript is the one that test/clients runs.
my ($consumer) = slurp('doc/feed.md') =~ /^```js\n(.*?)^```/ms;
isnt(index(slurp('test/clients/feed.mjs'), $consumer), -1, 'doc/feed.md shows the consumer of test/clients/feed.mjs');

# A recipe has a name after its language, and a test runs it by this name.  test/examples
# runs SQL without a name, and leaves out what is marked as a pattern.
my $tests = join('', map { slurp($_) } glob('test/t/*.pl test/t/long/*.pl test/perl/CombSoak.pm'));
for my $page ('doc/feed.md', 'doc/feed_anywhere.md', 'doc/feed_readers.md', 'doc/operations.md')
{
	my @blocks = slurp($page) =~ /^```(\w.*)\n/mg;
	my @names = map { /^(?:sql|sh|console(?: varies)?) ([\w-]+)$/ } @blocks;
	none("tests run all recipes of $page", grep { $_ ne 'pattern' && $tests !~ /\brecipe\('\Q$_\E'\)/ } @names);
	none("the recipes of $page have names", grep { $page =~ /feed/ && /^(?:sql|sh)$/ } @blocks);
}

# Snippets of clients: the lines of each stand in its program, and every program has a
# snippet.  The versions are those that npm and NuGet install.
my $clients = slurp('doc/clients.md') . slurp('doc/dotnet.md');
my $versions = $clients . slurp('test/README.md');
my %shown;

while ($clients =~ m{^\[[^\]]+\]\(\.\./(test/clients/[^)]+)\)\n\n```\w+(?: pattern)?\n(.*?)^```$}msg)
{
	my ($file, $snippet) = ($1, $2);
	my $program = slurp($file);
	$shown{$file} = 1;
	none("doc/clients.md has the lines of $file",
		grep { index($program, $_) < 0 } map { s/^\s+|\s+$//gr } split /\n/, $snippet);
}
# A program whose snippet would be that of another one has a link.
$shown{$_} = 1 for $clients =~ m{\]\(\.\./(test/clients/[^)]+)\)}g;
none('doc/clients.md shows every client',
	grep { !m{/(?:common|feed)\.} && !$shown{$_} } glob('test/clients/*.{mjs,py,go,java,rs,rb,php,pl,cs}'));
my $npm = JSON::PP->new->decode(slurp('test/clients/package.json'));
my %package = map { %{ $npm->{$_} } } qw(dependencies devDependencies);
none('test/README.md has the versions of package.json',
	grep { !m{/core$|^reflect-} && $versions !~ /`\Q$_\E` \Q$package{$_}\E\b/ } sort keys %package);
none('test/README.md has the versions of requirements.txt',
	grep { $versions !~ /\b\Q$_\E\b/ } map { /^([\w-]+)\S*==([\d.]+)/ ? "$1 $2" : () } split /\n/, slurp('test/clients/requirements.txt'));
none('test/README.md has the versions of Cargo.toml', grep { $versions !~ /\b\Q$_\E\b/ && !/^(?:chrono|uuid) / }
	map { /^([\w-]+) = .*"=([\d.]+)"/ ? "$1 $2" : () } split /\n/, slurp('test/clients/Cargo.toml'));
none('test/README.md has the versions of pom.xml', grep { $versions !~ /\b\Q$_\E\b/ }
	map { "$_->[0] $_->[1]" } grep { $_->[0] !~ /codegen|plugin/ }
	map { m{<artifactId>([^<]+)</artifactId><version>([^<]+)<} ? [ $1, $2 ] : () } split /\n/, slurp('test/clients/pom.xml'));
none('test/README.md has the versions of go.mod', grep { $versions !~ /\b\Q$_\E\b/ }
	map { m{/(pgx|pq|gorm|sqlc|bun|goose)(?:/v\d+)? v([\d.]+)} ? "$1 $2" : () } split /\n/, slurp('test/clients/go.mod'));
none('test/README.md has the versions of the programs for .NET', grep { !/^(?:Humanizer|Microsoft\.CodeAnalysis)/ && !dotnet_version($_) }
	map { slurp($_) =~ /^#:package (\S+)/mg } glob('test/clients/*.cs test/dotnet/*.cs'));

# Is the version of a package in the list of packages or in the table of originals?
sub dotnet_version
{
	my ($name, $version) = split /@/, $_[0];
	return $versions =~ /`\Q$name\E` \Q$version\E/ || $versions =~ /\b\Q$name\E \Q$version\E\b/
	  || ($name =~ /^(\w+)\./ && $versions =~ /\b$1 \Q$version\E\b/);
}

# Links lead somewhere
sub anchors
{
	return map { my $a = lc; $a =~ s/[^\w\s-]//g; $a =~ s/ /-/g; ($a => 1) }
	  slurp($_[0]) =~ /^#+ (.*)$/mg;
}

for my $file (sort glob('*.md */*.md'))
{
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
	none("links of $file", @broken);
}

done_testing();
