# make demo | make test | make build | make docs | make bench | make accuracy | make fuzz |
# make format | make tidy | make clean
#
# Every target installs what it needs first (make deps). PRESET=debug|asan|tsan chooses the build,
# JOBS=N the parallelism, TENFOLD_VENV another Python environment.

PRESET ?= release
JOBS ?= 2
FUZZ_SECONDS ?= 30
BUILD := build/$(PRESET)
VENV := $(if $(TENFOLD_VENV),$(TENFOLD_VENV),build/venv)

.PHONY: all demo test build configure deps deps-build docs bench accuracy fuzz format tidy clean

all: build

# What a build needs, and what the tests need on top of it.
deps-build:
	@scripts/install_deps.sh build
deps:
	@scripts/install_deps.sh build test

# Ninja reruns CMake by itself when a CMake file or the set of sources changes.
$(BUILD)/build.ninja: CMakePresets.json
	@cmake --preset $(PRESET) -DTENFOLD_PYTHON=$(abspath $(VENV))/bin/python
	@touch $@
configure: deps-build
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja

build: configure
	@cmake --build --preset $(PRESET) -j $(JOBS)

test: deps build
	@ctest --preset $(PRESET) -j $(JOBS)

demo: build
	@scripts/install_deps.sh demo
	@scripts/demo.sh $(BUILD)/bin/tenfold $(VENV)/bin/python

# Pages made from the tables of ops and passes, in build/docs; docs/ holds those that are written.
docs: build
	@$(BUILD)/bin/docgen build/docs .
	@PYTHONPATH=$(BUILD)/python $(VENV)/bin/python tools/docgen/onnx_coverage.py build/docs/onnx-coverage.md

bench: build
	@scripts/install_deps.sh test bench
	@scripts/bench.sh $(BUILD) $(VENV)/bin/python

# Simulated chips against published silicon, row by row, into docs/accuracy.md.
accuracy: build
	@$(VENV)/bin/python bench/accuracy/accuracy.py $(BUILD)/bin/tenfold --check \
	  --page docs/accuracy.md --jobs $(JOBS)

fuzz:
	@$(MAKE) --no-print-directory PRESET=fuzz build
	@scripts/fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS)

format:
	@scripts/format.sh

# clang-tidy on the files that differ from main, or on FILES="src/…".
tidy: build
	@scripts/tidy.sh $(BUILD) $(FILES)

# Keeps the Python environment, which is slow to make; `rm -rf build` drops that too.
clean:
	rm -rf $(filter-out build/venv,$(wildcard build/*))
