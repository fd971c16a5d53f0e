# pg_comb/Makefile
#
# Building and installing need PostgreSQL's development files (PGXS).  The goals in
# HARNESS do not: their scripts find or install what they need.

all:

# "make install EXTENSIONS=pg_comb" leaves the other one out.
EXTENSIONS = pg_comb pg_comb_ordered
EXTENSION  = $(filter $(EXTENSIONS),pg_comb pg_comb_ordered)
MODULE_big = pg_comb
PGFILEDESC = "pg_comb - time-ordered uuid keys"
# Keys without state, below src/planner what queries make of them, and below src/ordered the
# order that needs state
OBJS       = src/pg_comb.o src/comb_clock.o src/comb_layout.o src/comb_label.o src/comb_time.o src/comb_convert.o \
             src/comb_inspect.o src/comb_text.o src/comb_mask.o src/comb_generate.o src/comb_spread.o \
             src/comb_snowflake.o src/comb_mssql.o \
             src/planner/comb_call.o src/planner/comb_period.o src/planner/comb_selfuncs.o \
             src/planner/comb_page.o src/planner/comb_newest.o src/planner/comb_planner.o \
             src/ordered/comb_sequence.o src/ordered/comb_shared.o src/ordered/comb_seats.o src/ordered/comb_prepared.o src/ordered/comb_announce.o \
             src/ordered/comb_lease.o src/ordered/comb_ordered.o src/ordered/comb_answers.o \
             src/ordered/comb_plan.o src/ordered/comb_settled.o src/ordered/comb_snowflake_generate.o \
             src/ordered/comb_position.o src/ordered/comb_wait.o src/ordered/comb_warn.o src/ordered/comb_monitor.o
HDRS       = src/comb.h src/comb_compat.h src/comb_clock.h src/comb_layout.h src/comb_snowflake.h \
             src/planner/comb_call.h src/ordered/comb_order.h src/ordered/comb_take.h
PG_CPPFLAGS = -I$(srcdir)/src

# Listed, not wildcarded: without $(srcdir) a wildcard is empty in a VPATH build.  Under sql/ a
# name with "--" is installed, one without is a test of pg_regress: pg_regress
# looks for sql/ and expected/ in one directory, and here that is the top.
ALL_SQL    = sql/pg_comb--1.2.sql sql/pg_comb--1.1--1.2.sql sql/pg_comb--1.0--1.1.sql \
             sql/pg_comb_ordered--1.2.sql sql/pg_comb_ordered--1.1--1.2.sql sql/pg_comb_ordered--1.0--1.1.sql
DATA       = $(filter $(EXTENSION:%=sql/%--%),$(ALL_SQL))
DOCUMENTS  = README.md CHANGELOG.md LICENSE SECURITY.md \
             doc/administration.md doc/assistants.md doc/clients.md doc/libraries.md doc/feed.md doc/feed_anywhere.md \
             doc/feed_readers.md doc/installation.md doc/migration.md \
             doc/operations.md doc/ordered.md doc/pg_comb.md doc/pg_comb_ordered.md \
             doc/pipelines.md doc/topologies.md doc/usage.md \
             doc/byte_order.svg doc/key.svg doc/late_commit.svg doc/lease.svg \
             doc/snowflake_bits.svg doc/packaging/Dockerfile doc/packaging/alert_rules.yaml \
             doc/packaging/Dockerfile.alpine doc/packaging/feed_metrics.yaml doc/packaging/meson.build \
             doc/packaging/pg_comb.spec doc/bench/README.md doc/bench/results.md \
             $(patsubst $(srcdir)/%,%,$(wildcard $(srcdir)/doc/bench/*.svg))
# The programs that the documents show
PROGRAMS   = $(addprefix test/clients/, activerecord.rb asyncpg.py dapper.cs dbd-pg.pl \
                 diesel.rs django.py dotnet/AsAdded.cs drizzle.mjs drizzle/schema.mjs \
                 efcore.cs feed.mjs flyway.java flyway/V1__orders.sql gorm.go \
                 hibernate.java jdbc.java jooq.java knex.mjs kysely.mjs linq2db.cs marten.cs mikro-orm.mjs \
                 mybatis.java nhibernate.cs npgsql-feed.cs npgsql.cs pdo.php pg.mjs pgx.go \
                 postgresjs.mjs prisma.mjs prisma/schema.prisma psycopg2.py psycopg3.py \
                 python/shop/models.py python/consumer.py node/consumer.mjs java/Consumer.java r2dbc.java sea-orm.rs sequelize.mjs spring.java \
                 sqlalchemy.py sqlc.go sqlc/functions.sql sqlc/query.sql sqlc/sqlc.yaml \
                 sqlx.rs tokio-postgres.rs typeorm.mjs) \
             $(addprefix test/pipelines/, dbt.py dlt.py kafka-connect.java singer.py spark.py)
# psql runs these files, not CREATE EXTENSION.  All but migrate_online.sql serve without the extension.
PORTABLE   = sql/portable/pg_comb.sql sql/portable/pg_comb_feed.sql sql/portable/migrate_online.sql \
             sql/portable/uninstall.sql

REGRESS        = sanity time layouts generate ordered snowflake position warn check spread range newest behind hostile install \
                 mssql mssql_sort aggregate text
# Some messages show characters of UTF-8, and a server may have another encoding.
REGRESS_OPTS   = $(addprefix --load-extension=,$(EXTENSION)) --encoding=UTF8 --no-locale
# What newer servers have in addition.  A version's tests are chosen here, and no test
# has more than one expected output.
REGRESS_V18    = generate-v18
REGRESS_V20    = generate-v20
# "make installcheck TAP_TESTS=1" also runs these, as autopkgtest does.  prove starts in
# the source directory.
PROVE_TESTS   ?= test/t/*.pl

HARNESS    = help demo demo-cluster test test-all test-deep test-models test-clients test-pipelines \
             test-dotnet test-packages test-partitioning test-cluster bench instructions fuzz soak indent dist \
             dist-windows dist-alpine

.PHONY: $(HARNESS)

# PG_CONFIG is only handed on when the user named one.
ifdef PG_CONFIG
export PG_CONFIG
endif

help:
	@printf '%s\n' \
		'make, make install     build and install for the server of PG_CONFIG' \
		'make demo              pg_comb at work, on a private server: about a minute' \
		'make test              all tests that a change needs: about three minutes' \
		'make test-all          on PostgreSQL 15, 17, 18 and 19' \
		'make installcheck      pg_regress on a running server' \
		'make bench             measure' \
		'make clean, uninstall  undo' \
		'More goals: $(filter-out help demo test test-all bench,$(HARNESS))'
demo:
	@test/demo
test:
	@test/run
test-all:
	@test/all
test-deep:
	@test/deep
test-models:
	@test/models/run
test-clients:
	@test/run clients
test-pipelines:
	@test/run pipelines
test-dotnet:
	@test/run originals
test-packages:
	@test/all packages
demo-cluster:
	@REPORT=yes test/all 18 cluster
test-cluster:
	@test/all 18 cluster
test-partitioning:
	@test/all partitioning
bench:
	@test/bench/run
instructions:
	@test/bench/instructions
fuzz:
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-120}; export FUZZ_SECONDS; STEP_LIMIT=$$((FUZZ_SECONDS * 2 + 600)) \
		test/run test/t/080_fuzz.pl
soak:
	@DURATION=$${DURATION:-600}; export DURATION; STEP_LIMIT=$$((DURATION * 2 + 600)) \
		JOBS=1 test/run test/t/081_soak.pl test/t/095_feed_soak.pl $(wildcard test/t/long/*_soak.pl)

# Debian's postgresql-server-dev-17 and later have pgindent, and pg_bsd_indent beside it.
# INDENT_FLAGS=--diff shows what would change.
PGINDENT = $(lastword $(sort $(wildcard /usr/lib/postgresql/*/bin/pgindent)) $(shell command -v pgindent))
indent:
	$(if $(PGINDENT),,@echo "Please install pgindent and pg_bsd_indent of PostgreSQL 17 or later (Debian: postgresql-server-dev-17)." >&2; exit 2)
	PATH="$(dir $(PGINDENT)):$$PATH" $(PGINDENT) $(INDENT_FLAGS) --typedefs=typedefs.list src/*.[ch] src/*/*.[ch]

# The archive for PGXN: the last commit, less what .gitattributes leaves out
DIST = $(MODULE_big)-$(shell sed -n 's/^   "version": "\(.*\)",$$/\1/p' META.json)
dist:
	@git diff --quiet HEAD || echo "Changes that are not committed are not in the archive."
	TZ=UTC git archive --format=zip --prefix=$(DIST)/ --output=$(DIST).zip HEAD

# No bitcode: JIT inlines only functions whose module is named with $libdir/, and ours
# refer to each other's hidden symbols.
override with_llvm = no

# Archives with the module, for servers of MAJORS, which pass their tests first
MAJORS ?= 15 17 18
dist-windows dist-alpine:
	@ARCHIVES=$${ARCHIVES:-$(CURDIR)} test/all deep $(MAJORS) $(@:dist-%=%)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
# Debian's client package has PGXS without the headers.
ifneq ($(and $(wildcard $(PGXS)),$(wildcard $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h)),)
include $(PGXS)
else ifneq ($(filter-out $(HARNESS),$(or $(MAKECMDGOALS),all)),)
$(error $(PG_CONFIG) leads to no PGXS: install the server's development package (Debian: postgresql-server-dev-NN), or name its pg_config with PG_CONFIG=)
endif

REGRESS += $(if $(filter 15 16 17,$(MAJORVERSION)),,$(REGRESS_V18))
REGRESS += $(if $(filter 15 16 17 18 19,$(MAJORVERSION)),,$(REGRESS_V20))

# Debian's PostgreSQL has no autodepend.
$(OBJS): $(addprefix $(srcdir)/,$(HDRS))

# A VPATH build (Debian's pg_buildext) starts in an empty directory, and make
# would find "src" through VPATH, so the target has to be phony.  It would find
# object files there too, and take them for this build's.  PGXS sets VPATH to
# ./ in any other build.
ifneq ($(abspath $(VPATH)),$(CURDIR))
ifneq ($(wildcard $(VPATH)/src/*.o $(VPATH)/src/*/*.o),)
$(error $(VPATH) has been built in: run "make clean" there first)
endif
.PHONY: vpath-mkdirs
all: vpath-mkdirs
$(OBJS): | vpath-mkdirs
vpath-mkdirs:
	$(MKDIR_P) src/planner src/ordered
endif

# The documents go into a directory of our own, in which they lie as they do here, with
# what they show and link to: their links work.  PGXS's DOCS has one directory for all
# extensions, and uninstall leaves there what came from a directory.
.PHONY: install-documents uninstall-documents
ifdef docdir
documents = '$(DESTDIR)$(docdir)/extension/$(MODULE_big)'
install: install-documents
install-documents:
	for file in $(DOCUMENTS) $(PORTABLE) $(PROGRAMS); do \
		$(MKDIR_P) $(documents)/$$(dirname $$file) && \
		$(INSTALL_DATA) '$(srcdir)'/$$file $(documents)/$$file || exit; \
	done
uninstall: uninstall-documents
uninstall-documents:
	rm -rf $(documents)
endif

# test/run asks for the list: make -s print-REGRESS
print-%:
	@echo $($*)

