# Everything here does its own set-up, into the environment $(VENV).
PYTHON ?= python3
VENV ?= .venv

READY = $(VENV)/.ready
BIN = $(VENV)/bin
SOURCES = nmtkit tests examples setup.py

.PHONY: help demo test check slow clean

help:
	@echo 'make demo    train a small English-French translator and watch it translate'
	@echo 'make test    run the tests and measure what they cover'
	@echo 'make check   look at format, style and types'
	@echo 'make slow    run the tests that take many minutes'
	@echo 'make clean   remove the environment and all that was built'
	@echo 'PYTHON=python3.12 chooses another Python, VENV=folder another environment.'

$(READY): setup.py pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	    "nmtkit needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[dev,plots]'
	@touch $@

demo: $(READY)
	NMTKIT=$(BIN)/nmtkit PYTHON=$(BIN)/python examples/toy-en-fr/demo.sh

test: $(READY)
	$(BIN)/python -m pytest --cov --cov-report=term --durations=5

check: $(READY)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy

slow: $(READY)
	$(BIN)/python -m pytest -m slow

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache
	find $(SOURCES) -name __pycache__ -type d -exec rm -rf {} +
