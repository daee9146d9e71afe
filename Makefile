# tidelog: `make run` shows the main job, `make test` runs the whole suite. Both set everything up first.

PYTHON ?= python3
VENV ?= .venv
# Compiled modules are kept, whatever the shell says: every test that starts a process starts it faster.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What is compiled where a C compiler is there. A compiled module whose source has changed is not used any more.
LOOPS := $(patsubst %.pxd,%.py,$(wildcard src/tidelog/records/*.pxd)) $(wildcard src/tidelog/records/*.pxd)
HOT_PATH := $(shell sed -n 's/^    "\(tidelog\.[a-z_.]*\)",$$/\1/p' src/tidelog/hot_path.py | sed 's|\.|/|g; s|.*|src/&.py|')
MESSAGE_CODEC := src/tidelog/protocol/native/message_codec.pyx
COMPILED := hatch_build.py src/tidelog/hot_path.py $(LOOPS) $(MESSAGE_CODEC) $(HOT_PATH)

# One more than the two cores that CI has: a third of the tests wait for elections, timeouts and other processes.
WORKERS ?= 3

# What `make soak` breaks, and for how long; the whole takes about half an hour on two cores.
SOAK_MINUTES ?= 10
SOAK_FRAMES ?= 200000
SOAK_SEEDS ?= 300
SOAK_SEED ?= 1
# Rows of 200 B that `make soak-spark` sends through a pipeline, twice; fifty million take about an hour on two cores.
SOAK_SPARK_ROWS ?= 50000000
SOAK_SPARK_EVERY ?= 60
# How often it restores checkpoints and kills things before that; about ten seconds each.
SOAK_ROUNDS ?= 200

# The lines of Spark that tidelog works with, each in an environment of its own inside of .venv.
SPARK_VERSIONS ?= 3.5 4.0 4.1 4.2 4.3

.PHONY: help setup browser run tour test test-fast coverage test-spark-versions soak soak-spark check format diagrams docs-pages screenshots bench bench-quick clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

setup: $(STAMP)  ## create .venv with tidelog and everything its tests need

$(STAMP): pyproject.toml $(COMPILED)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tidelog needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[console,spark,postgres]" --group dev
	@$(BIN)/python -c "from tidelog.records.implementation import REASON; print('record codec:', REASON or 'compiled')"
	@$(BIN)/python -c "from tidelog.protocol.implementation import REASON; print('message codec:', REASON or 'compiled')"
	@$(BIN)/python -c "from tidelog.hot_path import REASON; print('request path:', REASON or 'compiled')"
	@touch $(STAMP)

browser:  ## install Chromium for the console's browser tests, where apt-get may install it
	@$(PYTHON) tools/install_browser.py

run: setup  ## kill a Spark job in the middle of a commit, and see its output equal its input exactly
	$(BIN)/python -m tidelog.spark.demo

tour: setup  ## start a broker, produce to it, consume from it, look inside
	$(BIN)/python -m tidelog.cli.commands.tour

# Most of the broker's own tests run a second time, without the compiled request path.
test: setup  ## the whole test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
	TIDELOG_PURE_PYTHON=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "plain_python or both_ways"

test-fast: setup  ## the suite without its slow tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow"

# Not part of `make test`: it takes 2.6 times the processor time on Python 3.11.
coverage: setup  ## the fast suite, and which lines and branches of each package it executes (htmlcov/index.html)
	rm -rf build/coverage htmlcov && mkdir -p build/coverage
	TIDELOG_PURE_PYTHON=1 $(BIN)/coverage run -m pytest -n $(WORKERS) --dist loadgroup -m "not slow" $(COVERAGE_TESTS); echo $$? > build/coverage/status
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage json --quiet -o build/coverage/coverage.json
	@$(BIN)/python tools/coverage_by_package.py build/coverage/coverage.json
	@exit $$(cat build/coverage/status)

test-spark-versions: setup  ## source, sink and exactly_once_batch on every version of Spark from 3.5 on
	PYTHONPATH=tests $(BIN)/python -m support.spark_versions $(SPARK_VERSIONS)

soak: setup  ## kill, pause, wipe and restart a cluster under load, fuzz it, and simulate many more
	PYTHONPATH=tests $(BIN)/python -m soak.chaos --minutes $(SOAK_MINUTES) --seed $(SOAK_SEED)
	PYTHONPATH=tests $(BIN)/python -m soak.fuzz --frames $(SOAK_FRAMES) --seed $(SOAK_SEED)
	PYTHONPATH=tests $(BIN)/python -m soak.siege --frames $(SOAK_FRAMES) --seed $(SOAK_SEED)
	$(BIN)/tidelog simulate --nodes 3 --seeds $(SOAK_SEEDS) --first-seed $$((1000 * $(SOAK_SEED))) --jobs 2

soak-spark: setup  ## restore checkpoints and kill everything at random; many rows through Spark, alone and on a cluster
	PYTHONPATH=tests $(BIN)/python -m soak.restores --rounds $(SOAK_ROUNDS) --seed $(SOAK_SEED)
	PYTHONPATH=tests $(BIN)/python -m soak.spark --rows $(SOAK_SPARK_ROWS) --every $(SOAK_SPARK_EVERY)
	PYTHONPATH=tests $(BIN)/python -m soak.spark --rows $(SOAK_SPARK_ROWS) --every $(SOAK_SPARK_EVERY) --cluster

check: setup  ## ruff, mypy --strict of the code and its tests, import-linter, subjects of commits
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_subjects.py

format: setup  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

diagrams: setup  ## draw the state machines into docs/reference/state-machines.md
	$(BIN)/python tools/draw_diagrams.py

docs-pages: setup  ## write the pages under docs/reference that come from tables in the source
	$(BIN)/python tools/generate_configuration.py
	$(BIN)/python tools/generate_compatibility.py

screenshots: setup  ## take the pictures of the console in docs/images
	PYTHONPATH=tests $(BIN)/python tools/screenshots.py

bench: setup  ## measure speed and memory beside Apache Kafka, and write docs/benchmarks/full.md (about an hour)
	$(BIN)/python -m benchmarks

bench-quick: setup  ## the main figures beside Apache Kafka in three minutes: docs/benchmarks/quick.md
	$(BIN)/python -m benchmarks --quick

clean:  ## remove everything that make created
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist htmlcov
