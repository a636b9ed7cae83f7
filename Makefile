# The two commands of the README: `make demo` and `make test`. Each sets up everything it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# The build and the linters call tools that lie beside them.
export PATH := $(abspath $(BIN)):$(PATH)
# Tests run side by side, and benchmarks compare programs, not threads: one BLAS thread each.
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
SOURCES = $(shell find src -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name 'meson.build') meson.build pyproject.toml README.md

.PHONY: demo test test-slow test-oldest test-machines test-part lint docs bench bench-all release-check clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py build/demo

test: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto -m slow

# The whole suite with the lower bounds of pyproject.toml.
test-oldest: $(VENV)-oldest/.installed
	$(MAKE) test VENV=$(VENV)-oldest

# About an hour on two cores: the numerics tests under all BLAS kernels that the processor can run, with one and
# two threads, with the newest and with the oldest dependencies.
test-machines: $(VENV)/.installed $(VENV)-oldest/.installed
	$(BIN)/python tests/machines.py $(BIN)/python $(VENV)-oldest/bin/python

# What .ci/run has time for: two other kernels, and the oldest dependencies with the processor's own.
test-part: $(VENV)/.installed $(VENV)-oldest/.installed
	$(BIN)/python tests/machines.py --part $(BIN)/python $(VENV)-oldest/bin/python

lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/cython-lint src
	$(BIN)/mypy

# The site in build/docs: every code block and every example runs, links are checked, a warning is an error.
DOCS = build/docs
docs: $(VENV)/.docs
	$(BIN)/codespell
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto tests/test_docs.py tests/test_readme.py
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs $(DOCS)
	@echo "The site: $(DOCS)/index.html"

# Every table of docs/benchmarks.md has its script: bench-path runs benchmarks/bench_path.py.
BENCHES = $(subst _,-,$(basename $(notdir $(wildcard benchmarks/bench_*.py))))
.PHONY: $(BENCHES)

# About half an hour: the solver beside its peers. All tables: bench-all.
bench: bench-solvers bench-svm

bench-all: $(BENCHES)

bench-solvers bench-path bench-referee: export PSVM_ADELIE_PYTHON = $(abspath $(VENV))-adelie/bin/python
bench-solvers bench-path bench-referee: $(VENV)/.adelie
bench-svm bench-defaults bench-scale bench-selection-error: $(VENV)/.peers
$(BENCHES): bench-%: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/python benchmarks/bench_$(subst -,_,$*).py

# docs/papers.md: the tables of the papers, with a part of the splits or with all; finished cells are kept in build/.
.PHONY: papers papers-full
papers papers-full: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/python benchmarks/run_papers.py $(if $(findstring full,$@),--full)

# What a user gets: the sdist, the wheel made of it, and the tests against the wheel in an empty environment, without
# the sources beside them. `make release-check TESTS=tests/test_solve.py` for a part of them.
RELEASE = build/release
TESTS = tests
release-check: $(VENV)/.tools
	rm -rf $(RELEASE)
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/venv
	$(RELEASE)/venv/bin/python -m pip install --quiet "$$(echo $(RELEASE)/*.whl)[test]"
	tar -xzf $(RELEASE)/*.tar.gz -C $(RELEASE)
	rm -r $(RELEASE)/psvm-*/src
	cd $(RELEASE)/psvm-*/ && $(ONE_THREAD) ../venv/bin/python -m pytest -n auto -m "not slow" $(TESTS)

clean:
	rm -rf $(VENV) $(VENV)-adelie $(VENV)-oldest build

$(VENV)/.tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "psvm needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-build-isolation ".[docs]"
	touch $@

$(VENV)/.peers: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group peers
	touch $@

# adelie pins an old NumPy, so it has an environment of its own.
$(VENV)/.adelie: $(VENV)/.peers
	$(PYTHON) -m venv $(VENV)-adelie
	$(VENV)-adelie/bin/python -m pip install --quiet adelie
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation ".[test,bench,cli]"
	touch $@

# An environment like the other one, in which pip may take nothing but the lower bounds.
$(VENV)-oldest/.installed: build/oldest.txt $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "The oldest dependencies have wheels for Python 3.11: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	PIP_CONSTRAINT=$(abspath $<) $(MAKE) VENV=$(VENV)-oldest $@

build/oldest.txt: pyproject.toml
	mkdir -p build
	grep -oE '"[A-Za-z-]+>=[0-9.]+' $< | sed 's/"//; s/>=/==/' | sort -u > $@
