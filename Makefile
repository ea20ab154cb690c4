# make demo   both models on the built-in grammar, in minutes; all it makes lies in demo/
# make test   all tests
# make check  ruff (lint and format) and mypy
# make bench  training and search speed

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench clean

demo: $(VENV)/installed
	rm -rf demo
	$(BIN)/rnnsearch-demo --output demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest

check: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed
	$(BIN)/python benchmark/training_speed.py --workload paper25
	$(BIN)/python benchmark/search_speed.py --workload paper25

# A stamp is written last, so an install that broke off is taken up again.
$(VENV)/installed: setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: setup.py pyproject.toml $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[test,check]"
	touch $@

clean:
	rm -rf $(VENV) demo build dist *.egg-info
