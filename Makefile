# pg_comb/Makefile
#
# Building and installing need PostgreSQL's development files (PGXS).  The goals in
# test/Makefile do not: their scripts find or install what they need.

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
             src/planner/comb_unwrap.o src/planner/comb_page.o src/planner/comb_newest.o src/planner/comb_planner.o \
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
# The documents, and the programs below test/ to which they lead.  The README files of other archives are their own.
DOCUMENTS  = README.md CHANGELOG.md LICENSE SECURITY.md $(filter-out %.txt,$(patsubst $(srcdir)/%,%,$(wildcard \
             $(addprefix $(srcdir)/doc/,*.md *.svg packaging/* bench/*.md bench/*.svg))))
PROGRAMS   = $(shell cd '$(srcdir)' && grep -soh '](\.\./test/[^)]*' doc/*.md | sed 's,.*\.\./,,' | sort -u)
# psql runs these files, not CREATE EXTENSION.  All but migrate_online.sql serve without the extension.
PORTABLE   = sql/portable/pg_comb.sql sql/portable/pg_comb_feed.sql sql/portable/migrate_online.sql \
             sql/portable/uninstall.sql

REGRESS        = sanity time layouts generate ordered snowflake position warn check spread range unwrap newest behind hostile install \
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

# Not where only the sources were copied, as in doc/packaging/Dockerfile.
-include $(dir $(lastword $(MAKEFILE_LIST)))test/Makefile

# No bitcode: JIT inlines only functions whose module is named with $libdir/, and ours
# refer to each other's hidden symbols.
override with_llvm = no

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

