# make demo   both models on the built-in grammar, in minutes; all it makes lies in demo/, where
#             it replaces what an earlier one made and keeps other files
# make test   all tests; says what it skipped and why
# make test-fast   those that need no long training run, no browser and no server
# make test-lowest   the same with the lowest versions of all packages that pyproject.toml allows;
#                    PYTHON is one of 3.10 to 3.12
# make test-beam   those of rnnsearch_tf/pipelines, with Apache Beam, in an environment of its own
# make fuzz   damaged files and hostile strings; also DAMAGES, STRINGS, SEED
# make kill-test   training runs killed and resumed, for an hour or two; also KILLS, WORKER_KILLS, SEED
# make check  ruff (lint and format) and mypy, also for macOS and Windows
# make docs   the line numbers in docs/equations.md
# make site   the documentation with an API page from the docstrings, in site/
# make dist   source distribution and wheel, in dist/
# make walk   end-to-end checks of the wheel, in an environment of its own for PYTHON
# make protos the messages of TensorFlow Serving and SentencePiece, from their .proto
# make clean  all environments, demo/, site/, build/, dist/ and caches are removed
# make bench  training and search speed, three times, beside stored figures; also WORKLOAD, REPEAT
# make reproduce DATA=folder   the paper's four models, evaluated, with a report in OUTPUT;
#                              also OUTPUT, SIZE, TRAIN, VALID, TEST, TEST_LENGTHS, FLAGS

# Where PYTHON is given, an environment of another one is not used in its place.
SAME_PYTHON = @[ "$(origin PYTHON)" = file ] || \
    [ "$$($(PYTHON) $(VERSION))" = "$$($1/bin/python $(VERSION))" ] || \
    { echo "$1 has another Python than $(PYTHON): remove it, and run make again"; exit 1; }
VERSION := -c 'import sys; print(sys.version_info[:2])'

.NOTPARALLEL: # all install into the same environment
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
BEAM := .venv-beam
BUILD := build/venv
# Its code runs with every protobuf that pyproject.toml allows; grpcio-tools has no wheel for 3.13.
PROTOC := grpcio-tools==1.62.3
PROTOS := rnnsearch_tf/client/serving rnnsearch_tf/text/subword_model
DOWNLOAD := about 0.7 GB to download
# On a terminal, pip shows what it downloads and how far it is.
QUIET_PIP = $$([ -t 2 ] || echo --quiet)

# Without DATA, the sets of the folder of real text that the tests use.
ifndef DATA
ifdef RNNSEARCH_DATA
DATA := $(RNNSEARCH_DATA)/europarl
TRAIN ?= train200k_len50
TEST ?= valid_len
endif
endif
TRAIN ?= train
VALID ?= valid
TEST ?= test
TEST_LENGTHS ?= $(TEST)
OUTPUT ?= reproduction
DAMAGES ?= 20000
STRINGS ?= 100000
KILLS ?= 200
WORKER_KILLS ?= 50
SEED ?= 1
# multi30k reads real text.
WORKLOAD ?= $(if $(RNNSEARCH_DATA),multi30k) paper25
REPEAT ?= 3
SIZE ?= small
NO_DATA := make reproduce needs DATA=folder with train, valid and test, each .en and .fr or .gz

.PHONY: demo test test-fast test-lowest test-beam fuzz kill-test check docs site dist walk protos bench reproduce data-is-named clean

demo: $(VENV)/installed
	$(call SAME_PYTHON,$(VENV))
	$(BIN)/rnnsearch-demo --output demo

# A process for each of two cores, and one for tests that wait (tests/conftest.py).
test: $(VENV)/installed-test
	$(call SAME_PYTHON,$(VENV))
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-fast: $(VENV)/installed-test
	$(call SAME_PYTHON,$(VENV))
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
	    -m "not slow and not distributed and not browser and not serving"

test-lowest: $(LOWEST)/installed
	$(call SAME_PYTHON,$(LOWEST))
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
	    -m "not slow and not distributed and not browser and not serving"

test-beam: $(BEAM)/installed
	$(call SAME_PYTHON,$(BEAM))
	$(BEAM)/bin/python -m pytest tests/pipelines

fuzz: $(VENV)/installed-test
	$(BIN)/python tests/reliability/fuzz.py \
	    --damages=$(DAMAGES) --strings=$(STRINGS) --seed=$(SEED)

kill-test: $(VENV)/installed-test
	$(BIN)/python tests/reliability/kill_trainings.py \
	    --kills=$(KILLS) --worker_kills=$(WORKER_KILLS) --seed=$(SEED)

check: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin
	$(BIN)/mypy --platform win32 rnnsearch_tf

docs:
	$(PYTHON) docs/line_numbers.py

site: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

dist: $(BUILD)/installed
	rm -rf dist build/lib
	$(BUILD)/bin/python -m build --outdir dist .

walk: dist $(VENV)/installed-test
	.ci/walk "$(PYTHON)" $(BIN)/python

protos:
	$(PYTHON) -m venv build/protoc
	build/protoc/bin/python -m pip install --quiet $(PROTOC)
	build/protoc/bin/python -m grpc_tools.protoc -I. --python_out=. $(PROTOS:=.proto)
	sed -i.bak '/^if _descriptor._USE_C/,$$d' $(PROTOS:=_pb2.py) # offsets that nothing reads
	rm $(PROTOS:=_pb2.py.bak)

bench: $(VENV)/installed
	$(BIN)/python benchmark/compare.py --workload $(WORKLOAD) --repeat $(REPEAT)

reproduce: data-is-named $(VENV)/installed
	$(BIN)/rnnsearch-reproduce --data "$(DATA)" --output "$(OUTPUT)" --preset_size "$(SIZE)" \
	    --train "$(TRAIN)" --valid "$(VALID)" --test "$(TEST)" --test_lengths "$(TEST_LENGTHS)" \
	    $(FLAGS)

data-is-named:
	@$(if $(DATA),true,$(error $(NO_DATA)))

# A stamp is written last, so an install that broke off is done again, from the beginning: it may have
# been another Python's.
RIGHT_PYTHON = @$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' || \
    { echo "$(PYTHON) is no Python 3.10 to 3.13: name one, as in make demo PYTHON=python3.12"; exit 1; }
MAKE_VENV = $(PYTHON) -m venv $(if $(wildcard $@),,--clear)

$(VENV)/installed: setup.py pyproject.toml
	@[ ! -e $(VENV) ] || [ -e $(VENV)/by-make ] || [ -e $@ ] || \
	    { echo "$(VENV) was not made by make: move it, or choose another with VENV=FOLDER"; exit 1; }
	$(RIGHT_PYTHON)
	$(MAKE_VENV) $(VENV) || { touch $(VENV)/by-make; exit 1; }
	@touch $(VENV)/by-make
	@echo "Installing rnnsearch_tf with TensorFlow in $(VENV): $(DOWNLOAD)"
	$(BIN)/python -m pip install $(QUIET_PIP) --editable ".[all]"
	touch $@

$(BUILD)/installed:
	$(PYTHON) -m venv $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet build
	touch $@

$(VENV)/installed-test: setup.py pyproject.toml $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[test,check]"
	touch $@

# What the package asks for is known once the package itself is installed.
$(LOWEST)/installed: setup.py pyproject.toml .ci/lowest_versions.py
	$(RIGHT_PYTHON)
	$(MAKE_VENV) $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --no-deps --editable .
	$(LOWEST)/bin/python .ci/lowest_versions.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt \
	    --editable ".[test]"
	touch $@

# Apache Beam takes protobuf down to 6.33: not into the environment of the other tests.
$(BEAM)/installed: setup.py pyproject.toml
	$(RIGHT_PYTHON)
	$(MAKE_VENV) $(BEAM)
	$(BEAM)/bin/python -m pip install --quiet --editable ".[beam,test]"
	touch $@

$(VENV)/installed-docs: setup.py pyproject.toml $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) $(BEAM) demo site build dist *.egg-info .*_cache
