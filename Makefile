# Two targets matter: `make demo` installs and runs the main job, `make test` runs the whole suite.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-hosts check bench clean

demo: $(VENV)/ready
	$(BIN)/engram demo

test: $(VENV)/ready-dev check
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Real agent programs from npm, offline, against a fake model. HOSTS_CACHE keeps them (2 GB) between runs.
HOSTS_CACHE ?= $(or $(TMPDIR),/tmp)/engram-hosts
test-hosts: $(VENV)/ready-dev
	ENGRAM_HOSTS_CACHE=$(HOSTS_CACHE) $(BIN)/python -m pytest -m hosts tests/e2e/hosts

# Lint, types, layers: seconds rather than minutes.
check: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/ready-dev
	$(BIN)/python bench/run.py

$(VENV)/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@ $(VENV)/ready

clean:
	rm -rf $(VENV) .ci/work .mypy_cache .ruff_cache .hypothesis build dist
