# A thin front for Meson. `make` builds, `make check` installs what the tests need and runs them
# all, `make demo` installs, builds and runs the main job with nothing else installed.
BUILD = build
PREFIX ?= /usr/local
ROWS ?= 20000000
FILES ?= 1000

.PHONY: all check test lint fmt asan tsan fuzz bench bench-maintain campaign demo docs deps deps-test deps-sql install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet
	@ln -sf src/cli/calve $(BUILD)/calve

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --buildtype=release -Ddebug=true >/dev/null

# Debian packages: installed as root, else the line to type is printed.
deps:
	@scripts/deps.sh build
deps-test:
	@scripts/deps.sh test
# The library that jobs with SQL load.
deps-sql:
	@scripts/duckdb.sh

check: deps-test
	@python3 scripts/check.py

# Unit tests and the fuzz corpus only.
test: all
	@meson test -C $(BUILD) --quiet --print-errorlogs

lint: all
	@python3 scripts/lint.py

fmt:
	@clang-format -i $$(git ls-files '*.c' '*.h')

asan:
	@test -f build-asan/build.ninja || CC=clang meson setup build-asan --buildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-asan --quiet
	@ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		meson test -C build-asan --quiet --print-errorlogs

tsan:
	@test -f build-tsan/build.ninja || CC=clang meson setup build-tsan --buildtype=debugoptimized \
		-Db_sanitize=thread -Db_lundef=false >/dev/null
	@ninja -C build-tsan --quiet
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/tsan.supp:halt_on_error=1 \
		meson test -C build-tsan --quiet --print-errorlogs

# FUZZ_SECONDS per target; crashes go to tests/fuzz/corpus.
fuzz:
	@scripts/fuzz.sh

bench: deps-test all
	@tests/bench/run.sh --rows $(ROWS)

bench-maintain: deps-test all
	@tests/bench/run.sh maintain --files $(FILES)

campaign: deps-test
	@scripts/campaign.sh

demo: deps all
	@$(BUILD)/calve demo

docs: all
	@python3 scripts/docs.py

# Without fault points; with the library of `make deps-sql`, if it was fetched.
install:
	@test -f build-install/build.ninja || meson setup build-install --buildtype=release \
		-Dfaults=false >/dev/null
	@meson configure build-install -Dprefix=$(PREFIX)
	@ninja -C build-install --quiet
	@meson install -C build-install --quiet
	@if [ -f .cache/duckdb/libduckdb.so ]; then \
		install -d "$(DESTDIR)$(PREFIX)/lib/calve" && \
		install -m 755 .cache/duckdb/libduckdb.so "$(DESTDIR)$(PREFIX)/lib/calve/" && \
		install -m 644 .cache/duckdb/LICENSE "$(DESTDIR)$(PREFIX)/lib/calve/LICENSE.duckdb"; fi

clean:
	@rm -rf build build-asan build-tsan build-fuzz build-install
