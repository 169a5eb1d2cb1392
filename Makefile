# The front door. Every target first installs what it needs and is missing, and says so.

JOBS ?= $(shell nproc)
# Tests of the program wait for processes and disks half of their time; those under sanitizers do not.
TEST_JOBS ?= $(shell echo $$((2 * $(JOBS))))
PREFIX ?= /usr/local
CLANG_FORMAT ?= clang-format-14
FUZZ_SECONDS ?= 60
SECONDS ?= 600
QUICK ?=
FULL ?=

STAGES := rules release python
MORE_STAGES := long asan tsan
SOURCES = $(shell find include src cli python examples tests fuzz -name '*.h' -o -name '*.cc')

# $(call configure,PRESET,MORE): quiet unless it fails.
configure = mkdir -p build && { cmake --preset $(1) $(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }; }
compile = cmake --build --preset $(1) --parallel $(JOBS)
# $(call run_tests,PRESET,OPTIONS OF CTEST): several at a time; reports say what ran.
run_tests = rm -rf $(or $(folder_of_$(1)),build/$(1))/reports && ctest --preset $(1) -j$(or $(jobs_of_$(1)),$(JOBS)) $(2)
folder_of_asan := build/asan-clang
jobs_of_release := $(TEST_JOBS)
# $(call build_and_test,PRESET,OPTIONS OF CTEST)
build_and_test = $(call configure,$(1),-DHINGE_TESTS=ON) && $(call compile,$(1)) && $(call run_tests,$(1),$(2))

.PHONY: help
help:
	@echo 'make build      the program, at build/hinge'
	@echo 'make demo       generate data, train, prove and evaluate, in build/demo'
	@echo 'make demo-mpi   the same on two ranks, with MPI, in build/demo-mpi'
	@echo 'make test       format, rules, all tests, the Python package: in 8 minutes on two cores'
	@echo 'make test-all   that; then tests at length, and by Clang under sanitizers: in 30 minutes'
	@echo 'make test-X     one stage of these: $(STAGES) $(MORE_STAGES); and clang, optimised by it'
	@echo 'make python     the Python package: a wheel in build/python/wheel, installed in build/python/venv'
	@echo 'make fuzz       every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make hostile    tries to break the program for SECONDS=$(SECONDS); SEED=, TRIALS=, ONLY=TRIAL:NUMBER'
	@echo 'make bench      beside its peers, in an hour or two; writes docs/benchmarks.md; QUICK=1: a part, in minutes'
	@echo 'make bench-python  the Python package beside scikit-learn'
	@echo 'make bench-losses  the same with the other losses; QUICK=1: a part, in minutes; goes on where it was cut'
	@echo 'make bench-cores  the same solvers with 1, 2, 4, 8, 16 threads, in 20 minutes on 16 cores; writes docs/cores.md'
	@echo 'make bench-report  the tables and figures again, from RESULTS=$(RESULTS)'
	@echo 'make paper      the tables of the active-set paper, in half an hour; writes docs/papers.md; QUICK=1: in ten minutes'
	@echo 'make paper-report  its tables and figures again'
	@echo 'make coverage   lines and branches of the library that the tests reach'
	@echo 'make format     format the sources'
	@echo 'make install    into PREFIX=$(PREFIX), below DESTDIR if given'
	@echo 'make clean      remove build/'

# Tests are configured in by `make test` and never out again, so both can share a build folder.
.PHONY: build
build:
	@sh tools/install_deps.sh build
	@$(call configure,release,$(if $(wildcard build/release/build.ninja),,-DHINGE_TESTS=OFF))
	@$(call compile,release) --target hinge-cli
	@ln -sfn release/hinge build/hinge

.PHONY: demo
demo: build
	@HINGE=build/hinge sh tools/demo.sh build/demo

.PHONY: demo-mpi
demo-mpi:
	@sh tools/install_deps.sh build mpi
	@$(MAKE) --no-print-directory build
	@HINGE=build/hinge sh tools/demo_mpi.sh build/demo-mpi

.PHONY: test
test: test-deps
	@python3 tools/run_stages.py $(STAGES)

# test-more is what test-all adds.
.PHONY: test-all
test-all: test
	@$(MAKE) --no-print-directory test-more

.PHONY: test-more
test-more: test-deps
	@python3 tools/run_stages.py $(MORE_STAGES)

.PHONY: test-deps
test-deps:
	@sh tools/install_deps.sh build test
	@sh tools/install_deps.sh mpi || echo 'MPI could not be installed: what needs it is skipped'

.PHONY: test-rules
test-rules: test-deps
	@python3 tools/check_includes.py --self-test
	@python3 tools/check_includes.py
	@mkdir -p build; $(CLANG_FORMAT) --dry-run -Werror $(SOURCES) 2>build/format.log || { \
	  sed -n 's/: error: code should be.*/: not formatted/p; /not found/p' build/format.log; \
	  echo 'run: make format'; exit 1; }

.PHONY: test-release
test-release: test-deps
	@$(call build_and_test,release,-LE later)
	@ln -sfn release/hinge build/hinge

# The same again at length: every fault at every point, kills in numbers, ranks over namespaces, all real data.
.PHONY: test-long
test-long: test-deps
	@$(call configure,release,-DHINGE_TESTS=ON) && $(call compile,release)
	@export HINGE_LONG=1; $(call run_tests,release,-L "long|everywhere")

# What another compiler makes of it when it optimises; no part of test-all, in which it is asan's.
.PHONY: test-clang
test-clang: test-deps
	@sh tools/install_deps.sh clang
	@$(call build_and_test,clang,-L everywhere)

# By Clang, which also looks at every file by itself.
.PHONY: test-asan
test-asan: test-deps
	@sh tools/install_deps.sh clang
	@$(call configure,asan,-DHINGE_TESTS=ON) && $(call compile,asan)
	@python3 tools/check_alone.py build/asan-clang
	@$(call run_tests,asan,-L everywhere)

.PHONY: test-tsan
test-tsan: test-deps
	@$(call configure,tsan,-DHINGE_TESTS=ON)
	@$(call compile,tsan) --target hinge-cli hinge-tests
	@$(call run_tests,tsan,-R ^unit)
	@TSAN_OPTIONS=halt_on_error=1 HINGE=build/tsan/hinge ROWS=3000 sh tools/demo.sh build/tsan/demo

# The package, in a virtual environment of its own. The module is linked with the library that `make build` has built;
# `pip install .` builds one of its own.
python_venv := build/python/venv
python_build = -C build-dir=build/python/module -C cmake.define.HINGE_INSTALLED=ON -C cmake.define.CMAKE_PREFIX_PATH=$(CURDIR)/build/python/prefix

.PHONY: python
python: build
	@sh tools/install_deps.sh python
	@cmake --install build/release --prefix build/python/prefix >build/python/install.log
	@rm -rf build/python/wheel
	@$(python_venv)/bin/pip wheel --no-build-isolation --no-deps --no-index $(python_build) -w build/python/wheel . \
	  >build/python/wheel.log 2>&1 || { cat build/python/wheel.log; exit 1; }
	@$(python_venv)/bin/pip install --quiet --no-deps --no-index --force-reinstall build/python/wheel/*.whl
	@ls build/python/wheel/*.whl

# From outside the sources, so that what is installed is tested; with what scikit-learn's checks of other arrays ask for.
# Packages are compiled to bytecode once, however often tests start Python.
.PHONY: test-python
test-python: python
	@cd build/python && env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/build/python/pycache \
	  HINGE=$(CURDIR)/build/hinge SCIPY_ARRAY_API=1 venv/bin/python -m pytest -c ../../pyproject.toml \
	  --rootdir ../.. -n $(JOBS) --junitxml=reports/python.xml ../../python/tests $(PYTEST)

.PHONY: fuzz
fuzz:
	@sh tools/install_deps.sh build clang
	@$(call configure,fuzz)
	@$(call compile,fuzz)
	@sh tools/fuzz.sh build/fuzz $(FUZZ_SECONDS)

# Random data, options, files, signals and races; SEED=N gives the same again, TRIALS=signals,races some of them,
# ONLY=forging:17 one; HINGE=build/asan-clang/hinge tries another program.
.PHONY: hostile
hostile: build
	@sh tools/install_deps.sh test
	@HINGE='$(HINGE)' python3 -B tests/hostile/hostile.py --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
	  $(if $(TRIALS),--trials $(TRIALS)) $(if $(ONLY),--only $(ONLY))

# Lines and branches of the library that the tests reach; COVERED='src/data/.*' narrows it. Branches that only an
# exception takes, or that no code can take, do not count.
COVERED ?= src/.*
gcovr = gcovr -r . --object-directory build/coverage --filter '$(COVERED)' --exclude-unreachable-branches --exclude-throw-branches

.PHONY: coverage
coverage: test-deps
	@sh tools/install_deps.sh coverage
	@rm -rf build/coverage
	@$(call configure,coverage,-DHINGE_TESTS=ON)
	@$(call compile,coverage)
	@ctest --preset coverage -j$(JOBS) -E cli.faults
	@# Where memory runs out, the counters themselves fail; what they count until then counts.
	@ctest --preset coverage -R cli.faults >build/coverage/faults.log 2>&1 || true
	@$(gcovr) --html-details build/coverage/index.html
	@$(gcovr)
	@$(gcovr) --branches
	@echo 'details: build/coverage/index.html'

# BENCH passes options on, such as BENCH="--only ccat,a9a --costs 1 --measures a,b"; see bench/matrix.py. HINGE names
# another program to measure.
RESULTS ?= build/bench/results.json
HINGE ?= build/hinge

.PHONY: bench
bench: build
	@sh tools/install_deps.sh bench
	@HINGE='$(HINGE)' build/bench/venv/bin/python3 -B bench/matrix.py run $(if $(QUICK),--quick) $(BENCH)

# The Python package beside scikit-learn; BENCH="--sets ccat,digits --repeat 2" and others, see bench/python.py.
.PHONY: bench-python
bench-python: python
	@$(python_venv)/bin/python -B bench/python.py $(BENCH)

# Squared hinge, logistic and regression; BENCH="--losses logistic --only a9a" and others, see bench/losses.py. Its tables
# stand at the end of docs/benchmarks.md.
.PHONY: bench-losses
bench-losses: build
	@sh tools/install_deps.sh bench
	@HINGE='$(HINGE)' build/bench/venv/bin/python3 -B bench/losses.py run $(if $(QUICK),--quick) --docs docs $(BENCH)

# More threads: sets x solvers x threads, in 20 minutes on 16 cores; BENCH="--only a9a --threads 1,2" and others, see
# bench/cores.py. It writes docs/cores.md.
.PHONY: bench-cores
bench-cores: build
	@HINGE='$(HINGE)' python3 -B bench/cores.py run $(BENCH)

.PHONY: bench-report
bench-report:
	@$(or $(wildcard build/bench/venv/bin/python3),python3) -B bench/matrix.py report --results '$(RESULTS)'

# The active-set paper, with hinge and libocas; goes on where it was cut. QUICK=1 a part, FULL=1 generated sets at the
# published size, in some hours; PAPER="--only table3 --sets ccat" and others, see bench/paper.py.
paper_size = $(if $(QUICK),--quick,$(if $(FULL),--full))

.PHONY: paper
paper: build
	@sh tools/install_deps.sh bench
	@HINGE='$(HINGE)' python3 -B bench/paper.py run $(paper_size) $(PAPER)

.PHONY: paper-report
paper-report:
	@python3 -B bench/paper.py report $(paper_size) $(PAPER)

.PHONY: format
format: test-deps
	@$(CLANG_FORMAT) -i $(SOURCES)

.PHONY: install
install: build
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

.PHONY: clean
clean:
	rm -rf build
