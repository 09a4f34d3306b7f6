# Everything is set up by the targets themselves: a bare clone needs Python 3.11 or newer, git and make.
# `make PYTHON=/path/to/python3 …` names the interpreter; `make test ARGS='-k fence'` passes arguments on.

.DEFAULT_GOAL := help
SHELL := /bin/sh
PY := .venv/bin/python
ARGS ?=

# The node of the locked requirements, not one that happens to be installed; and no advice to upgrade.
export PYRIGHT_PYTHON_GLOBAL_NODE := 0
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYTHON

.PHONY: help setup setup-base check format-check lint types imports tidy core test demo demo-race demo-recovery demo-cancel chaos fuzz mutants bench coverage format lock pages audit sbom clean distclean

help: ## Say what there is (this)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Bring .venv up to date, with the tools of development
	@python=$$(tools/find-python) && "$$python" tools/setup.py dev

setup-base:
	@python=$$(tools/find-python) && "$$python" tools/setup.py base

check: format-check lint types imports tidy core ## Format, lint, types, imports, house rules, core tests (a minute)

format-check: setup
	@echo "check: format"
	@.venv/bin/ruff format --check --quiet --output-format concise .

lint: setup
	@echo "check: lint"
	@.venv/bin/ruff check --quiet --output-format concise .

types: setup
	@echo "check: types"
	@.venv/bin/pyright --warnings

imports: setup
	@echo "check: imports"
	@out=$$(.venv/bin/lint-imports --no-logo 2>&1) || { echo "$$out"; exit 1; }

tidy: setup
	@echo "check: house rules"
	@$(PY) -m pytest tests/test_tidy.py

core: setup
	@echo "check: core tests"
	@$(PY) -m pytest tests/core

test: setup ## Every test
	@echo "test: all"
	@$(PY) -m pytest $(ARGS)

demo: setup-base ## The main job in a temporary folder: submit, crash, unknown, recover, audit
	@$(PY) -m tenure.cli.main demo main $(ARGS)

demo-race: setup ## Two workers race, a pull request's answer is lost, a person answers; draws tenure-race.svg
	@$(PY) -m tenure.cli.main demo race $(ARGS)

demo-recovery: setup-base ## One task through every class of failure, to the end of its budget
	@$(PY) -m tenure.cli.main demo recovery $(ARGS)

demo-cancel: setup-base ## Cancels: acknowledged, not acknowledged, and a word that comes too late
	@$(PY) -m tenure.cli.main demo cancel $(ARGS)

chaos: setup ## Half an hour of faults on real processes, then what became of everything (ARGS='--minutes 5 --seed 1')
	@$(PY) -m tests.chaos --install $(ARGS)

fuzz: setup ## Fuzz every decoder, led by coverage, half a minute each: about 40 minutes (ARGS='--minutes 2 policy_file'; Linux)
	@$(PY) -m tests.hostile.fuzz $(ARGS)

mutants: setup ## Every mechanical mutant of core, and which test kills it (ARGS='--only leasing'; hours when nothing is cached)
	@$(PY) -m tests.mutation $(ARGS)

bench: setup ## Measure, as JSON lines with ratios within this one run
	@$(PY) -m bench $(ARGS)

coverage: setup ## Every test, with the branches that none of them takes
	@$(PY) -m coverage run -m pytest $(ARGS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report

format: setup ## Format the tree and mend what the linter can mend
	@.venv/bin/ruff check --fix --quiet . || true
	@.venv/bin/ruff format .

lock: setup-base ## Write requirements/*.txt anew from pyproject.toml (ARGS=--upgrade for newer releases)
	@$(PY) tools/lock.py $(ARGS)

# Each writes its page or pages; a test of each compares.
PAGES := tools.diagrams tools.access tools.limits tools.threats tools.guarantees tools.proof tools.policy_table \
	tests.sim.checkers tenure.runtime.settings_reference tenure.cli.reference tenure.servers.rest.reference

pages: setup ## Write every generated page anew
	@for page in $(PAGES); do $(PY) -m $$page || exit; done

audit: setup ## Ask the package index what is known against the locked dependencies; fails if anything is, or if it could not be asked
	@$(PY) -m tools.audit

sbom: setup ## Write the software bill of materials of what users install (dist/tenure.cdx.json)
	@$(PY) -m tools.sbom $(ARGS)

clean: ## Remove what the tools left
	@rm -rf .coverage .coverage.* htmlcov dist .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	@find src tests tools bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## Remove the environment as well
	@rm -rf .venv .tools
