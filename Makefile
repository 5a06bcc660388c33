# The one task file. `make demo` and `make test` set up all they need in .venv by themselves.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test lint types docs check bench clean

demo: $(STAMP)            ## run the main job on a temporary vault
	$(BIN)/atlas demo

test: $(STAMP)            ## run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal atlas tests

lint: $(STAMP)            ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)           ## mypy, strict
	$(BIN)/mypy

docs: $(STAMP)            ## generate docs/cli.md and the figures of README.md
	$(BIN)/python docs/generate.py

check: test lint types    ## all of the above, as CI runs it

bench: $(STAMP)           ## the benchmarks that need no data of their own
	$(BIN)/python benchmarks/vault.py

clean:
	rm -rf $(VENV) build dist

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)
