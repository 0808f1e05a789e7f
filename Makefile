# Everything here does its own set-up, into the environment $(VENV).
PYTHON ?= python3
VENV ?= .venv

READY = $(VENV)/.ready
BIN = $(VENV)/bin
SOURCES = nmtkit bench tests examples docs setup.py

.PHONY: help demo wmt14 test check docs slow faults bench bench-peers clean

help:
	@echo 'make demo    train a small English-French translator and watch it translate'
	@echo 'make wmt14   the papers on WMT14 English-French; SIZE=smoke tries it in minutes, without network'
	@echo 'make test    run the tests and measure what they cover'
	@echo 'make check   look at format, style and types'
	@echo 'make docs    build the documentation site into build/docs, warnings being errors'
	@echo 'make slow    run the tests that take many minutes'
	@echo 'make faults  kill trainings, fill disks, give hostile files; look whether anything is lost'
	@echo 'make bench   measure speed and memory, beside what make bench-peers installs'
	@echo 'make clean   remove the environment and all that was built'
	@echo 'PYTHON=python3.12 chooses another Python, VENV=folder another environment.'

$(READY): setup.py pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	    "nmtkit needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[dev,docs,plots]'
	@touch $@

demo: $(READY)
	NMTKIT=$(BIN)/nmtkit PYTHON=$(BIN)/python examples/toy-en-fr/demo.sh

# From the download to the papers' tables: examples/wmt14-en-fr. What is interrupted goes on when the
# same is typed again.
wmt14: $(READY)
	+$(MAKE) --no-print-directory -f examples/wmt14-en-fr/Makefile $(STEP) \
	    NMTKIT=$(BIN)/nmtkit PYTHON=$(BIN)/python

# In TESTERS processes, of one thread each where a test does not ask for more.
TESTERS ?= 2
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(TESTERS) --dist worksteal \
	    --cov --cov-report=term --durations=5

check: $(READY)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

slow: $(READY)
	$(BIN)/python -m pytest -m slow

# KILLS of a training, RANK_KILLS of one in two processes, FUZZ seconds of hostile files for each
# reader, and UPDATES and LINES in one process; docs/explanation/reliability.md.
KILLS      ?= 200
RANK_KILLS ?= 40
FUZZ       ?= 20
UPDATES    ?= 3000
LINES      ?= 30000
faults: $(READY)
	$(BIN)/python tests/faults/run.py --kills $(KILLS) --rank-kills $(RANK_KILLS) \
	    --fuzz $(FUZZ) --updates $(UPDATES) --lines $(LINES)

# DATA=folder with the raw text of Multi30k; THREADS and ROUNDS may be set, and MARIAN=binary.
# Tables, and all readings as JSON, are in build/bench. The first time, the peers' models that
# translate are trained, too.
DATA    ?= examples/multi30k-en-fr/data
PEERS   ?= build/bench/peers
THREADS ?= 2
ROUNDS  ?= 3
MADE    := build/bench
RAW      = $(DATA)/train.en $(DATA)/train.fr
LOADED   = --work $(MADE)/work --threads $(THREADS)
PEERED   = --data $(DATA) --peers $(PEERS) $(LOADED)
IN_TURNS = $(PEERED) $(MARIAN:%=--marian %) --rounds $(ROUNDS)

bench: $(READY)
	@[ -f "$(DATA)/train.en" ] || { echo "make bench needs DATA=folder, one with the raw text of" \
	    "Multi30k; make -C examples/multi30k-en-fr data fetches it" >&2; exit 2; }
	$(BIN)/python bench/train.py $(IN_TURNS) --sizes small \
	    --models rnnsearch rnnenc grconv deep-lstm phrase-rnn cslm --output $(MADE)/train.md
	$(BIN)/python bench/train.py $(IN_TURNS) --sizes paper --output $(MADE)/train_paper.md
	$(BIN)/python bench/translate.py $(IN_TURNS) --quantize --candidates \
	    --output $(MADE)/translate.md
	$(BIN)/python bench/cold_start.py $(MADE)/work/translate/nmtkit-800/model --threads $(THREADS) \
	    --output $(MADE)/cold_start.md
	$(BIN)/python bench/prepare.py --corpus multi30k $(RAW) $(LOADED) --rounds $(ROUNDS) \
	    --output $(MADE)/prepare.md
	$(BIN)/python bench/memory.py $(PEERED) --output $(MADE)/memory.md
	$(BIN)/python bench/scale.py --corpus $(RAW) $(LOADED) --output $(MADE)/scale.md \
	    --plot $(MADE)/scale.svg
	$(BIN)/python bench/scale_model.py --threads $(THREADS) --rounds $(ROUNDS) \
	    --output $(MADE)/scale_model.md --plot $(MADE)/scale_model.svg

bench-peers:
	bench/peers/build.sh $(PEERS)

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache
	find $(SOURCES) -name __pycache__ -type d -exec rm -rf {} +
