# Two commands do everything on a fresh machine with python3 >= 3.11: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test slow lint bench clean

demo: $(VENV)/.demo
	$(BIN)/plsdof demo

test: $(VENV)/.test
	$(BIN)/python -m pytest --cov --cov-report=term

slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python benchmarks/core.py

clean:
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

# One stamp per set of extras, renewed when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@

$(VENV):
	$(PYTHON) -m venv $(VENV)
