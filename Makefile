# Every target builds .venv when it must; the stamps make that free while pyproject.toml and constraints.txt stand still.

PYTHON ?= python3
DEMO_ARGS ?=
FUZZ_ARGS ?= --cases 5000 --seed 1
# A worker takes whole files, in the order of tests/conftest.py: those with slow tests first.
PYTEST_ARGS ?= -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

VENV := .venv
DEMO := runs/demo
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

.DEFAULT_GOAL := help
.PHONY: help demo check fast test fuzz browser docs lint clean

help:  ## say what there is to make
	@echo "usage: make TARGET [PYTHON=python3.12] [DEMO_ARGS=...] [PYTEST_ARGS=...]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-7s  %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(BASE)  ## two agents where noise comes on demand, side by side, and a page about them (DEMO_ARGS: of curiax study)
	$(VENV)/bin/curiax study demo --out $(DEMO) $(DEMO_ARGS)
	$(VENV)/bin/curiax report $(DEMO)
	@awk -F , 'NR > 1 { printf "%-14s  %.2f trackers per episode, noise dwell %.2f\n", $$2, $$4, $$5 }' $(DEMO)/scores.csv
	@echo "page: $(DEMO)/report/report.html  film: $(DEMO)/report/film.gif"

check: $(DEV)  ## lint, types and the fast tests, side by side: two minutes
	@$(MAKE) --no-print-directory --jobs 2 lint fast

fast: $(DEV)  ## run the tests that are not marked slow
	$(VENV)/bin/python -m pytest -m "not slow" $(PYTEST_ARGS)

test: $(DEV) browser  ## run all tests (PYTEST_ARGS: of pytest)
	$(VENV)/bin/python -m pytest $(PYTEST_ARGS)

fuzz: $(DEV)  ## thousands of random mistakes and damaged runs (FUZZ_ARGS: --cases N --seed N --case N)
	$(VENV)/bin/python -m tests.support.fuzz.cases $(FUZZ_ARGS)

browser:  ## install Debian's Chromium, in which the report is tested, if there is none and it can be done
	@command -v chromium > /dev/null || { $(SUDO) apt-get update && $(SUDO) apt-get install -y chromium; } \
	|| echo "no chromium here: the tests of the report's page will be skipped"

docs: $(DEV)  ## build the documentation, strictly, into site/
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict --quiet
	@echo "page: site/index.html"

lint: $(DEV)  ## check style, formatting and types
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/pyright

clean:  ## remove .venv, caches and builds; runs stay
	rm -rf $(VENV) .cache .hypothesis .pytest_cache .ruff_cache build dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("curiax needs Python 3.11 or newer: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@echo "installing into $(VENV): a minute, once"
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(DEV): $(BASE)
	@echo "installing what the tests need into $(VENV): some minutes, once"
	$(PIP) -e '.[dev]'
	@touch $@
