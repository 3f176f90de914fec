# On a machine with python3, pip and make, `make demo` and `make test` install everything that they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test lint coverage docs dist test-wheel test-oldest review regression bench results mutants clean

help:
	@echo "make demo     install covmetric into $(VENV), learn from real recordings, and compare with fixed metrics and pyRiemann"
	@echo "make test     install the test tools, then run lint, type checks, doctests and tests"
	@echo "make lint     run ruff, mypy, import-linter and the numpydoc validation"
	@echo "make coverage run all tests and print which lines and branches of covmetric they miss (under ten minutes)"
	@echo "make docs     build the documentation into docs/_build/html, without the network, and check its links (a minute)"
	@echo "make dist     build the wheel and the sdist into dist"
	@echo "make test-wheel  install the wheel in a fresh environment elsewhere, and run the tests against it"
	@echo "make test-oldest  the same with the lowest versions of all dependencies that pyproject.toml allows"
	@echo "make review   check the repository with sp-repo-review, and the workflows with zizmor"
	@echo "make regression  compare the speed of this code with that of BASE (default: main)"
	@echo "make bench    print the benchmark tables (a quarter of an hour)"
	@echo "make results  repeat all experiments of the paper into docs/results; COVMETRIC_DATA names the images (an hour)"
	@echo "make mutants  change the core in 300 small ways and count how many changes the tests detect (minutes)"
	@echo "make clean    remove $(VENV) and caches"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing covmetric and the recordings of the demo into $(VENV) ..."
	$(PIP) -e ".[demo]"
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing covmetric and its test tools into $(VENV) ..."
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run
	$(BIN)/covmetric demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docstrings.py

test: lint
	$(BIN)/python -m pytest -n 2

coverage: $(VENV)/.dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing covmetric and the tools of the documentation into $(VENV) ..."
	$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.run

docs: $(VENV)/.docs
	rm -rf docs/_build docs/api/generated docs/gallery
	$(BIN)/sphinx-build --builder html --nitpicky --fail-on-warning --keep-going --quiet docs docs/_build/html
	$(BIN)/python tools/links.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation

test-wheel: dist
	$(BIN)/python tools/wheel_tests.py --python $(PYTHON)

test-oldest: dist
	$(BIN)/python tools/wheel_tests.py --python $(PYTHON) --oldest

$(VENV)/.review: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[review]"
	@touch $@

review: $(VENV)/.review
	$(BIN)/repo-review .
	$(BIN)/zizmor --offline --no-progress .

regression: $(VENV)/.dev
	$(BIN)/python -m benchmarks.regression $(or $(BASE),main) --threshold $(or $(THRESHOLD),1.3)

mutants: $(VENV)/.dev
	$(BIN)/python tools/mutants.py

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.projection
	$(BIN)/python -m benchmarks.convergence
	$(BIN)/python -m benchmarks.solvers

results: $(VENV)/.dev
	$(BIN)/covmetric reproduce all --out docs/results --jobs 2
	rm -f docs/results/*.old.csv  # rows of older code, which git has
	$(BIN)/python tools/results.py

clean:
	rm -rf docs/_build docs/api/generated docs/gallery
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
