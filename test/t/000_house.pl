# Checks of a release that no compiler makes: the metadata, versions that must
# agree, files that must be listed, and documents that must name everything.  The
# checks need no server.

use strict;
use warnings;

use File::Basename qw(basename dirname);
use FindBin qw($RealBin);
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
my $readme = slurp('README.md');
my $reference = slurp('doc/pg_comb.md');
my $changelog = slurp('CHANGELOG.md');

# META.json has what the PGXN v1 specification requires, and nothing else
my $meta = JSON::PP->new->utf8->decode(slurp('META.json'));
my @required = qw(name version abstract maintainer license provides meta-spec);
my @optional = qw(description generated_by tags no_index prereqs
  release_status resources);

none('META.json has the required keys', grep { !defined $meta->{$_} } @required);
like($meta->{name}, qr{^[^\s/\\[:cntrl:]]{2,}$}, 'name of the distribution');
like($_, qr/\S/, 'abstract') for $meta->{abstract}, $meta->{provides}{pg_comb}{abstract};
for my $key (sort keys %$meta)
{
	ok(scalar(grep { $_ eq $key } @required, @optional) || $key =~ /^x_./i,
		"META.json may have the key $key");
}
like($meta->{version}, $semver, 'version of the distribution');
is($meta->{license}, 'postgresql', 'licence');
like($meta->{release_status}, qr/^(stable|testing|unstable)$/, 'status of the release');
is($meta->{'meta-spec'}{version}, '1.0.0', 'version of the specification');
is($meta->{'meta-spec'}{url}, 'https://pgxn.org/meta/spec.txt', 'its address');
is(join(' ', sort keys %{ $meta->{provides} }), 'pg_comb', 'what is provided');
my $provided = $meta->{provides}{pg_comb};
like($provided->{version}, $semver, 'version of the extension');
for my $key (qw(file docfile))
{
	ok(-f $provided->{$key}, "$key exists");
	unlike($provided->{$key}, qr{^/|\\|\.\.}, "$key is a relative path");
}
none('an extension has no other keys',
	grep { !/^(abstract|docfile|file|version)$/ } sort keys %$provided);
none('tags have two to 255 characters, and are no paths',
	grep { !m{^[^/\\[:cntrl:]]{2,255}$} } @{ $meta->{tags} });
for my $phase (sort keys %{ $meta->{prereqs} })
{
	like($phase, qr/^(configure|build|test|runtime|develop)$/, "phase $phase");
	none("relationships of $phase",
		grep { !/^(requires|recommends|suggests|conflicts)$/ } sort keys %{ $meta->{prereqs}{$phase} });
	my %needs = map { %$_ } values %{ $meta->{prereqs}{$phase} };
	none("versions needed by $phase",
		grep { $needs{$_} ne '0' && $needs{$_} !~ $semver } sort keys %needs);
}

# The version stands in several places
my $version = $meta->{version};
my ($series) = $version =~ /^(\d+\.\d+)/;

is($provided->{version}, $version, 'the extension has the version of the distribution');
like(slurp('src/comb.h'), qr/^#define COMB_VERSION\s+"\Q$version\E"$/m, 'version in comb.h');
like(slurp('pg_comb.control'), qr/^default_version = '\Q$series\E'$/m, 'version in the control file');
is($provided->{file}, "sql/pg_comb--$series.sql", 'META.json has the script of the version');
like($makefile, qr{\bsql/pg_comb--\Q$series\E\.sql\b}, 'the script of the version is installed');
like(slurp('debian/changelog'), qr/^pg-comb \(\Q$version\E-/, 'version in debian/changelog');
like(slurp('doc/packaging/pg_comb.spec'), qr/^Version:\s+\Q$version\E$/m, 'version in the RPM spec');
like($reference, qr/^# pg_comb \Q$series\E /m, 'version in the reference');
like($changelog, qr/\b\Q$version\E\b/, 'version in the changelog');

# Lists in the Makefile
my $meson = slurp('doc/packaging/meson.build');
for my $file (sort glob('src/*.c'))
{
	my $object = $file =~ s/c$/o/r;
	like($makefile, qr/(?<!\S)\Q$object\E(?!\S)/, "$object is linked");
	like($meson, qr/'\Q$file\E'/, "$file is in doc/packaging/meson.build");
}
for my $file (sort glob('src/*.h'))
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

# Only comb_compat.h looks at the server's version
none('PG_VERSION_NUM only in comb_compat.h',
	grep { !m{/comb_compat\.h$} && slurp($_) =~ /PG_VERSION_NUM/ } glob('src/*.[ch]'));

# The reference describes every function and setting once, and the tables of the
# README list all of them.
sub section
{
	my ($document, $heading) = @_;
	return $document =~ /^## \Q$heading\E\n(.*?)(?=^## |\z)/ms ? $1 : '';
}

# Return the text below each heading of this name in the reference.
sub entries
{
	my ($heading) = @_;
	return $reference =~ /^### \Q$heading\E\n(.*?)(?=^##|\z)/msg;
}

my $script = slurp("sql/pg_comb--$series.sql");
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
	like(section($readme, 'Reference'), qr/`[^`]*\Q$operator\E[^`]*`/, "README has $operator");
}

cmp_ok(scalar keys %function, '>', 0, 'the script creates functions');
for my $name (sort keys %function)
{
	my @entries = entries($name);
	is(scalar @entries, 1, "reference has $name once");
	like(section($readme, 'Reference'), qr/`$name\(/, "README has $name");
	like($changelog, qr/`$name\b/, "changelog has $name");
}
my %setting = map { $_ => 1 } map { slurp($_) =~ /"(pg_comb\.\w+)"/g } glob('src/*.c');
cmp_ok(scalar keys %setting, '>', 0, 'the module has settings');
for my $name (sort keys %setting)
{
	my @entries = entries($name);
	is(scalar @entries, 1, "reference has $name once");
	my ($default) = join('', @entries) =~ /^The default is `([^`]+)`\.$/m;
	$default = 'none' unless defined $default;
	like(section($readme, 'Settings'), qr/^\| `\Q$name\E` \| `\Q$default\E` \|/m,
		"README has $name, and the reference's default");
	like($changelog, qr/`\Q$name\E`/, "changelog has $name");
}

# operations.md explains every message that the sources have, with its SQLSTATE and
# with "…" in place of values, and no other message.
sub messages
{
	my %sqlstate = (
		DATETIME_VALUE_OUT_OF_RANGE => '22008',
		FEATURE_NOT_SUPPORTED => '0A000',
		INTERNAL_ERROR => 'XX000',
		INVALID_PARAMETER_VALUE => '22023',
		INVALID_TEXT_REPRESENTATION => '22P02',
		INVALID_TRANSACTION_STATE => '25000',
		OBJECT_IN_USE => '55006',
		OBJECT_NOT_IN_PREREQUISITE_STATE => '55000');
	my %messages;
	for my $file (glob('src/*.[ch]'))
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

# Snippets of clients: the lines of each stand in its program, and every program has a
# snippet.  The versions are those that npm and NuGet install.
my $clients = slurp('doc/clients.md') . slurp('doc/dotnet.md');
my %shown;

while ($clients =~ m{^\[[^\]]+\]\(\.\./(test/clients/[^)]+)\)\n\n```\w+\n(.*?)^```$}msg)
{
	my ($file, $snippet) = ($1, $2);
	my $program = slurp($file);
	$shown{$file} = 1;
	none("doc/clients.md has the lines of $file",
		grep { index($program, $_) < 0 } map { s/^\s+|\s+$//gr } split /\n/, $snippet);
}
none('doc/clients.md shows every client',
	grep { !m{/(?:common|feed)\.} && !$shown{$_} } glob('test/clients/*.{mjs,py,java,rb,go,php,pl,cs}'));
for my $file ('test/clients/package.json', 'test/clients/prisma/package.json')
{
	my $packages = JSON::PP->new->decode(slurp($file))->{dependencies};
	none("doc/clients.md has the versions of $file",
		grep { !m{/core$|^reflect-} && $clients !~ /`\Q$_\E` \Q$packages->{$_}\E\b/ } sort keys %$packages);
}
none('doc/dotnet.md has the versions of the programs for .NET', grep { !/^(?:Humanizer|Microsoft\.CodeAnalysis)/ && !dotnet_version($_) }
	map { slurp($_) =~ /^#:package (\S+)/mg } glob('test/clients/*.cs test/dotnet/*.cs'));

# Is the version of a package in the list of packages or in the table of originals?
sub dotnet_version
{
	my ($name, $version) = split /@/, $_[0];
	return $clients =~ /`\Q$name\E` \Q$version\E/ || $clients =~ /\b\Q$name\E \Q$version\E\b/
	  || ($name =~ /^(\w+)\./ && $clients =~ /\b$1 \Q$version\E\b/);
}

# Links lead somewhere
sub anchors
{
	return map { my $a = lc; $a =~ s/[^\w\s-]//g; $a =~ s/ /-/g; ($a => 1) }
	  slurp($_[0]) =~ /^#+ (.*)$/mg;
}

for my $file ('README.md', 'CHANGELOG.md', sort glob('doc/*.md'))
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
