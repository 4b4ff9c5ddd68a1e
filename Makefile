# The two commands: `make run` and `make test`. Both do all the set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on
SERVING := $(VENV)/.ready
WORKING := $(VENV)/.ready-dev

.PHONY: help run test test-full bench lint setup clean docs
help: ## What there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(WORKING) ## Prepare .venv for development (nothing system-wide)

$(SERVING): pyproject.toml constraints.txt
	@echo "==> Preparing $(VENV) (once; a minute or two on a slow line)"
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -U "pip>=25.1"
	$(PIP) -c constraints.txt -e .
	@touch $@

$(WORKING): $(SERVING)
	@echo "==> Adding what tests and checks need (once; a few minutes on a slow line)"
	$(PIP) -c constraints.txt -e . --group dev
	@touch $@

run: $(SERVING) ## Serve http://127.0.0.1:8080
	$(BIN)/vivavoce serve

lint: setup ## Ruff, strict types, who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## Everything but the long runs
	$(BIN)/pytest -m "not full"

test-full: lint ## And the long runs
	$(BIN)/pytest

bench: setup ## Each hot path beside its peer, as ratios
	$(BIN)/python -m bench

docs: setup ## Regenerate the generated parts of docs/
	$(BIN)/python -m tests.docs_parts --write

clean: ## Remove what setup and the tools made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
