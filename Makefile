# Bare `make` lists what one can do. Everything happens inside .venv and target/.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
RUST := $(shell find src -name '*.rs') Cargo.toml Cargo.lock pyproject.toml
WORKERS ?= 2
# In these cargo would look for the jobs of a `make -j2`, and warn that it cannot have them.
unexport MAKEFLAGS MFLAGS

.PHONY: help build demo test test-rust test-python test-long check check-python check-rust
.PHONY: bench bench-spark guard guard-fails docs format clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

build: .venv/.built ## Build the package in release mode into .venv, with all it needs

.venv/.installed: requirements-dev.txt
	@[ -n "$(PYTHON)" ] || { echo "assignor: Python 3.11 or newer is needed and was not found; install it, or say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "assignor: installing the development set into .venv, which takes a minute or two" >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

.venv/.built: .venv/.installed $(RUST)
	@command -v cargo >/dev/null || { echo "assignor: cargo was not found; install a Rust toolchain (1.88 or newer, for example by rustup) and run make again" >&2; exit 1; }
	@echo "assignor: building the Rust core in release mode, which takes a minute or two the first time" >&2
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --quiet --extras spark,java >/dev/null
	@touch $@

demo: build ## Report on the recorded fleet in data/fleet_webshop
	@$(BIN)/assignor report data/fleet_webshop

test: build test-rust test-python ## Run every test but the long profiles

test-rust:
	cargo test --locked --quiet

test-python: build
	$(BIN)/python -m pytest -m "not long" --numprocesses $(WORKERS) --no-loadscope-reorder

test-long: build ## Run the long profiles too (fuzz, exhaustive)
	PROPTEST_CASES=20000 ASSIGNOR_PROFILE=long cargo test --locked --release --quiet
	ASSIGNOR_PROFILE=long $(BIN)/python -m pytest

check: check-python check-rust ## Run ruff, mypy --strict, stubtest, clippy and rustfmt

check-python: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest assignor._core

check-rust: # needs nothing that is built, so it can go on beside the build
	cargo fmt --check
	cargo clippy --locked --quiet --all-targets -- -D warnings
	cargo clippy --locked --quiet --all-targets --features python -- -D warnings
	cargo clippy --locked --quiet --all-targets --all-features -- -D warnings

bench: build ## Time assignor beside its peers in Python and Java, each goal beside its figure
	$(BIN)/python -m benches.run

bench-spark: build ## Time Fleet on Spark beside what Spark itself takes; a quarter of an hour, needs 5 GB of memory
	$(BIN)/python -m benches.spark

guard: build ## Compare the instructions that calls take with the committed budget; needs valgrind
	$(BIN)/python -m benches.instructions

guard-fails: build ## Check that the guard fails when a budget is too small; needs valgrind
	$(BIN)/python -m pytest benches/tests/test_instructions.py

docs: build ## Write the generated parts of the pages in docs anew
	$(BIN)/python -m docs.generate

format: build ## Rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt

clean: ## Remove what was built
	rm -rf .venv target dist assignor-report .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +
	find python -name '*.so' -delete
