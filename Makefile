# Every target installs what it needs into the environment $(VENV).
PYTHON ?= python3
VENV ?= .venv

INSTALLED = $(VENV)/.installed
BIN = $(VENV)/bin
SOURCES = nmtkit bench tests examples docs setup.py

.PHONY: help demo wmt14 test coverage check docs slow faults bench bench-languages bench-peers gpu clean

help:
	@echo 'make demo    train a small English-French translator and translate with it'
	@echo 'make wmt14   reproduce the papers on WMT14 English-French; SIZE=smoke: in minutes, without network'
	@echo 'make test    run the tests; make coverage also measures which lines they run'
	@echo 'make check   check format, style and types'
	@echo 'make docs    build the documentation site into build/docs; warnings are errors'
	@echo 'make slow    run the tests that take many minutes'
	@echo 'make faults  inject faults: kill trainings, fill disks, read hostile files; check that nothing is lost'
	@echo 'make bench   measure speed and memory, and those of the toolkits that make bench-peers installs'
	@echo 'make bench-languages LANGUAGES=DIR  compare translations of several languages after equal time'
	@echo 'make gpu     on a machine with a GPU: compare it with the CPU, train every recipe, say what limits it'
	@echo 'make clean   remove the environment and all build outputs'
	@echo 'PYTHON=python3.12 chooses another Python, VENV=folder another environment.'

$(INSTALLED): setup.py pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	    "nmtkit needs Python 3.11 or newer; choose one with make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[dev,docs,plots]'
	@touch $@

demo: $(INSTALLED)
	NMTKIT=$(BIN)/nmtkit PYTHON=$(BIN)/python examples/toy-en-fr/demo.sh

# From the download to the papers' tables: examples/wmt14-en-fr. Run the same command again to resume
# after an interruption.
wmt14: $(INSTALLED)
	+$(MAKE) --no-print-directory -f examples/wmt14-en-fr/Makefile $(STEP) \
	    NMTKIT=$(BIN)/nmtkit PYTHON=$(BIN)/python

# TEST_PROCESSES run in parallel, with one thread each unless a test uses more: four on two cores, as
# tests wait for disks, servers and processes.
TEST_PROCESSES ?= 4
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist worksteal
test: $(INSTALLED)
	$(PYTEST) --durations=5

coverage: $(INSTALLED)
	$(PYTEST) --cov --cov-report=term

check: $(INSTALLED)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy

docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow

# KILLS: kills of a training in one process; RANK_KILLS: in two; FUZZ: seconds of hostile files for each
# reader; CALLS: disturbed system calls of each command, or all; EVERY_FILE: every how many-th case of a
# file that a command opens; CHANGES: between two runs of a training, 0 for all; UPDATES and LINES: length
# of the runs in one process. LINES of the environment are those of a terminal. See
# docs/explanation/reliability.md.
KILLS      ?= 200
RANK_KILLS ?= 40
FUZZ       ?= 20
CALLS      ?= 60
CHANGES    ?= 400
EVERY_FILE ?= 3
UPDATES    ?= 3000
LINES       = 30000
faults: $(INSTALLED)
	$(BIN)/python tests/faults/run.py --kills $(KILLS) --rank-kills $(RANK_KILLS) \
	    --fuzz $(FUZZ) --calls $(CALLS) --changes $(CHANGES) --every-file $(EVERY_FILE) \
	    --updates $(UPDATES) --lines $(LINES)

# DATA is a folder with the raw text of Multi30k; THREADS, ROUNDS and MARIAN=binary may be set. Tables
# and all readings as JSON are written to build/bench. The first run also trains the models with which
# the peers translate.
DATA    ?= examples/multi30k-en-fr/data
PEERS   ?= build/bench/peers
THREADS ?= 2
ROUNDS  ?= 3
BENCH_OUTPUT    := build/bench
RAW      = $(DATA)/train.en $(DATA)/train.fr
BENCH_OPTIONS   = --work $(BENCH_OUTPUT)/work --threads $(THREADS)
PEER_OPTIONS   = --data $(DATA) --peers $(PEERS) $(BENCH_OPTIONS)
ROUND_OPTIONS = $(PEER_OPTIONS) $(MARIAN:%=--marian %) --rounds $(ROUNDS)

bench: $(INSTALLED)
	@[ -f "$(DATA)/train.en" ] || { echo "make bench needs DATA=folder with the raw text of" \
	    "Multi30k; make -C examples/multi30k-en-fr data downloads it" >&2; exit 2; }
	$(BIN)/python bench/train.py $(ROUND_OPTIONS) --sizes small \
	    --models rnnsearch rnnenc grconv deep-lstm phrase-rnn cslm --output $(BENCH_OUTPUT)/train.md
	$(BIN)/python bench/train.py $(ROUND_OPTIONS) --sizes paper --output $(BENCH_OUTPUT)/train_paper.md
	$(BIN)/python bench/translate.py $(ROUND_OPTIONS) --quantize --candidates \
	    --output $(BENCH_OUTPUT)/translate.md
	$(BIN)/python bench/cold_start.py $(BENCH_OUTPUT)/work/translate/nmtkit-800-small-0.002-100/model --threads $(THREADS) \
	    --output $(BENCH_OUTPUT)/cold_start.md
	$(BIN)/python bench/prepare.py --corpus multi30k $(RAW) $(BENCH_OPTIONS) --rounds $(ROUNDS) \
	    --output $(BENCH_OUTPUT)/prepare.md
	$(BIN)/python bench/memory.py $(PEER_OPTIONS) --output $(BENCH_OUTPUT)/memory.md
	$(BIN)/python bench/scale.py --corpus $(RAW) $(BENCH_OPTIONS) --output $(BENCH_OUTPUT)/scale.md \
	    --plot $(BENCH_OUTPUT)/scale.svg
	$(BIN)/python bench/scale_model.py --threads $(THREADS) --rounds $(ROUNDS) \
	    --output $(BENCH_OUTPUT)/scale_model.md --plot $(BENCH_OUTPUT)/scale_model.svg

# LANGUAGES is a folder with LANG/{train,val,test}.{en,LANG}; MINUTES of processor time for each training.
MINUTES ?= 10
bench-languages: $(INSTALLED)
	@[ -d "$(LANGUAGES)" ] || { echo "make bench-languages needs LANGUAGES=folder; bench/languages.py" \
	    "says what is in it" >&2; exit 2; }
	$(BIN)/python bench/languages.py --data $(LANGUAGES) --peers $(PEERS) --minutes $(MINUTES) \
	    --work $(BENCH_OUTPUT)/work/languages --output $(BENCH_OUTPUT)/languages.md

bench-peers:
	bench/peers/build.sh $(PEERS)

# Minutes on a machine with a GPU; with two, NCCL is tried, too. GPU_OPTIONS are those of bench/gpu.py.
GPU_OPTIONS ?=
gpu: $(INSTALLED)
	$(BIN)/python bench/gpu.py --output $(BENCH_OUTPUT)/gpu.md $(GPU_OPTIONS)

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(SOURCES) -name __pycache__ -type d -exec rm -rf {} +
