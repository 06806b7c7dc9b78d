# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# A folder of real data sets, used by the tests where it exists.
export TENVEC_DATA ?= $(wildcard $(CURDIR)/../shared/data)

# An environment that was interrupted while it was made has no pip.
pip = $(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "$(VENV) is incomplete: make clean removes it; then again."; exit 1; }

.PHONY: help demo test lint types unit clean

help:
	@echo "make demo   install into $(VENV) and show the main job on the handwritten digits"
	@echo "make test   lint, types, tests and doctests: everything that CI runs"
	@echo "make lint | types | unit   the parts of make test"
	@echo "make clean  remove $(VENV) and everything that was generated"

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "tenvec needs Python 3.11 or newer; '$(PYTHON)' was not found. Install it, or name yours: make demo PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tenvec needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -c 'import platform; print(platform.python_version())'). Name a newer one: make demo PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "'$(PYTHON)' lacks the module 'venv' (or 'ensurepip'). On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	@echo "Installing tenvec into $(VENV) ..."
	@$(pip)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,plots]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	@echo "Installing tenvec and its development tools into $(VENV) ..."
	@$(pip)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	@$(BIN)/tenvec demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# Two workers on two cores: a thread each.
unit: export OPENBLAS_NUM_THREADS ?= 1
unit: export OMP_NUM_THREADS ?= 1
unit: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m 'not slow'
	@echo "With SciPy's array API, which scikit-learn's dispatch asks for:"
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest tests/test_array_api_dispatch.py tests/test_sklearn.py -k array_api

test: lint types unit

clean:
	rm -rf $(VENV) build dist tenvec-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
