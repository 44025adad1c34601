# Two commands do everything on a fresh machine with python3 >= 3.11: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test slow published browser browser-tools lint scripts scripts-tools docs dist paper bench accuracy coverage choice leaderboard clean

demo: $(VENV)/.demo
	$(BIN)/plsdof demo --report demo.html

# One process per core, each with one thread for linear algebra.
test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --cov --cov-report=term

slow: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n logical -m slow

# Tests of data that may not be redistributed: PLSDOF_DATA names their folder.
published: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -rs -m 'published and not slow'

browser: browser-tools
	$(BIN)/python -m pytest -n logical -m browser tests/report tests/app

# Installs Debian's Chromium unless it is there, so it wants root on a Debian machine.
browser-tools: $(VENV)/.test
	{ command -v chromium && command -v chromedriver; } || { apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core; }
	$(BIN)/python -m pip install --quiet --editable '.[test,browser]'

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

# The types of the JavaScript of reports and app, which stand in its comments; wants npm. With
# scripts-tools, `make browser` looks at accessibility, too.
scripts: scripts-tools
	$(VENV)/node_modules/.bin/tsc -p tsconfig.json

scripts-tools: $(VENV)/.test
	test -x $(VENV)/node_modules/.bin/tsc || npm install --silent --no-audit --no-fund --prefix $(VENV) typescript@5 axe-core@4

# Warnings are errors, and so are links that lead nowhere.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python .ci/links docs/_build/html

# Wheel and sdist, installed into clean environments with each extra alone; ten minutes.
dist:
	PYTHON=$(PYTHON) .ci/install

# The paper's table and figures, and docs/reproduced.md; minutes, goes on where it stopped.
# kin and cookie are downloaded, or taken from the folder that PLSDOF_DATA names.
paper: $(VENV)/.test
	$(BIN)/python -m reproduction all --out reproduced
	cp reproduced/reproduced.md docs/reproduced.md
	cp reproduced/figures/*.png docs/figures/

# About half an hour; the second part writes 4 GB to SCRATCH and deletes them.
SCRATCH ?= /tmp
bench: $(VENV)/.bench
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/core.py benchmarks/results/core.md
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/peers.py --out benchmarks/results
	$(BIN)/python benchmarks/scale.py --scratch $(SCRATCH) --out benchmarks/results
	$(BIN)/python benchmarks/bounded.py --scratch $(SCRATCH)
	$(BIN)/python benchmarks/growth.py --out benchmarks/results

# Prints the table of docs/trust.md: errors of Degrees of Freedom against ball arithmetic.
accuracy: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/accuracy.py

# Measures the tables of docs/coverage.md; about half an hour, goes on where it stopped.
coverage: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/coverage.py --page docs/coverage.md

# Measures the tables of docs/choice.md; about an hour, goes on where it stopped.
choice: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/choice.py --page docs/choice.md

# Measures the tables of docs/leaderboard.md; about an hour, goes on where it stopped.
leaderboard: $(VENV)/.bench
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/leaderboard.py --page docs/leaderboard.md

clean:
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf demo.html docs/_build docs/gallery docs/generated docs/sg_execution_times.rst dist

# One stamp per set of extras, renewed when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[all,docs]'
	touch $@

$(VENV):
	$(PYTHON) -m venv $(VENV)
