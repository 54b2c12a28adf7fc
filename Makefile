# The project's entry points. They install into .venv and target/, and change nothing outside of the checkout.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name '*.toml' -o -name '*.csv' -o -name '*.cuh' -o -name '*.ptx')

.PHONY: check demo example-layers example-mlp example-sensors test test-rust test-python test-full test-device test-interop test-kernels test-estimates kernels wheels test-wheels bench docs lint build clean help

help:
	@echo "make demo       encrypted digit recognition, client and server in separate processes"
	@echo "make example-layers  the linear layers of a real transformer on encrypted activations (downloads 90 MB)"
	@echo "make example-mlp     two linear layers and an activation of a real transformer, by bootstraps with products inside (downloads 90 MB)"
	@echo "make check      formats, lints and layers: before each commit"
	@echo "make test       all tests"
	@echo "make test-full  the same at secure, full-size parameters"
	@echo "make test-kernels  the kernels of graphics processors under sanitizers, and through NVIDIA's compilers (no such processor needed)"
	@echo "make test-estimates ESTIMATOR=.. ROTATIONS=..  small rows of the security table, by clones of the estimators (scripts/estimate_security.py says which)"
	@echo "make wheels     wheels in dist/ for Linux on x86-64 and 64-bit Arm"
	@echo "make test-wheels  installs them from an index and runs them, the Arm one under emulation"
	@echo "make bench      ours and other libraries, one table (QUICK=1: two minutes)"
	@echo "make bench SET=..  a page of its own, beside the papers' numbers (QUICK=1: seconds to half a minute, small degrees):"
	@echo "                arrays     jobs on arrays as a new user writes them, beside other libraries of arrays"
	@echo "                bootstrap  bootstraps by stage, with precision, keys and memory, beside other libraries"
	@echo "                dpad       RNS-CKKS, ModHE and DPad-HE at the paper's sets"
	@echo "                gpu        operations on a graphics processor, predicted, or measured with DEVICE=cuda"
	@echo "                hermes     samples to slots and transciphering"
	@echo "                keyswitch  every way to switch keys at every level"
	@echo "                mambo      batches of bootstraps and products inside them"
	@echo "                matrix     plain matrices times encrypted ones, beside plain products"
	@echo "                packing    LWE samples into ciphertexts by every method"
	@echo "                pairs      products of two encrypted matrices, beside plain products and the slot-wise algorithm"
	@echo "                prices     predicted times of whole operations, beside measured ones"
	@echo "                programs   compiled functions, beside the same by operators"
	@echo "make example-sensors  many small clients, a server that packs and bootstraps what they send, a picture"
	@echo "make test-interop  samples of other libraries, packed and bootstrapped"
	@echo "make test-device  tests on an NVIDIA graphics processor, where the machine has one"
	@echo "make docs       the documentation as a site in site/ (reads without a network)"
	@echo "make lint       formatting, clippy, ruff, type stubs"

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.tools: requirements/dev.txt | $(BIN)/pip
	$(BIN)/pip install --quiet -r requirements/dev.txt
	touch $@

# Builds the package with optimisation and installs it in the virtual environment. With a C++ compiler it includes the kernels of devices for the
# processor, for tests (device="host-device").
HOST_DEVICE := $(if $(shell command -v c++),--features host-device)
# The whole workspace with the optimisation and the features of the wheel: tests and wheel share one build of the crates.
AS_IN_WHEEL := --workspace --locked --release $(if $(HOST_DEVICE),--features clathrate-python/host-device)
$(VENV)/.built: $(SOURCES) $(VENV)/.tools
	$(BIN)/maturin develop --release --quiet $(HOST_DEVICE)
	touch $@

build: $(VENV)/.built

demo: build
	$(BIN)/python examples/digits/run.py --output demo-output

# The linear layers of a real transformer on encrypted activations. Installs the model (90 MB) and takes half a minute.
example-layers: build
	$(BIN)/pip install --quiet -r examples/private_linear_layers/requirements.txt
	$(BIN)/python examples/private_linear_layers/run.py --output demo-output/layers.png

# Two linear layers of a real transformer with an activation between them, by bootstraps with products inside. Installs the model (90 MB), and takes minutes and 16 GB of memory.
example-mlp: build
	$(BIN)/pip install --quiet -r examples/private_mlp/requirements.txt
	$(BIN)/python examples/private_mlp/run.py --output demo-output

# Many small clients and one server, which is killed while they send. The keys have 128 bits of security and take 3 GB.
example-sensors: build
	$(BIN)/python examples/sensors/run.py --output demo-output

test: test-rust test-python

# Before each commit: the checks that fail most often, in under a minute after an edit.
check: $(VENV)/.tools
	$(CARGO) fmt --all --check
	$(BIN)/python scripts/comments.py --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --locked --quiet -p clathrate-testkit --test layers
	$(BIN)/python scripts/stub.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# A stand-in for NVIDIA's driver, which runs the kernels of devices on the processor and defers work until a call waits for it. With it first in the library path, tests run on `cuda`.
STAND_IN := target/stand-in
$(STAND_IN)/libcuda.so: crates/cuda/tests/driver/driver.cpp $(wildcard crates/cuda/kernels/*.cuh) $(wildcard crates/cuda/kernels/*.h) crates/cuda/kernels/host.cpp crates/cuda/kernels/kernels.list
	mkdir -p $(STAND_IN)
	c++ -std=c++17 -O3 -shared -fPIC -ffp-contract=off -pthread -Wl,-Bsymbolic $< -o $@

ON_STAND_IN := LD_LIBRARY_PATH="$(CURDIR)/$(STAND_IN)$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" CLATHRATE_TEST_ENGINE=cuda-graphs

# The part of the tests that also runs on a device behind the driver's interface, whose memory the host cannot address.
DEVICE_PART := --test all -- bundle:: degree:: switch:: methods:: allocations:: evaluator:: ranks::
DEVICE_FILES := --test container -- files::

test-rust: $(STAND_IN)/libcuda.so
	$(CARGO) test $(AS_IN_WHEEL)
	$(ON_STAND_IN) $(CARGO) test $(AS_IN_WHEEL) $(DEVICE_PART)
	$(ON_STAND_IN) $(CARGO) test $(AS_IN_WHEEL) $(DEVICE_FILES)

test-python: build
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/python bench

# Also without optimisation, where overflows and debug assertions are checked. Tests that measure the memory of a device have it alone.
test-full: build $(STAND_IN)/libcuda.so
	$(CARGO) test --workspace --locked
	$(CARGO) test $(AS_IN_WHEEL) -- --include-ignored
	$(ON_STAND_IN) $(CARGO) test --locked --release -p clathrate-lattice -p clathrate-ckks -- --skip devices::
	$(ON_STAND_IN) $(CARGO) test --locked --release -p clathrate-ckks --test all -- devices:: --test-threads=1
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/python --full
	$(MAKE) test-kernels
	$(MAKE) test-estimates
	$(MAKE) test-interop
	$(MAKE) test-wheels

# The kernels of devices, under sanitizers on this processor, and compiled by NVIDIA's compilers, which it installs (130 MB).
$(VENV)/.cuda: requirements/cuda.txt $(VENV)/.tools
	$(BIN)/pip install --quiet -r requirements/cuda.txt
	touch $@

test-kernels: $(VENV)/.cuda
	$(BIN)/python scripts/sanitize_kernels.py
	$(BIN)/python scripts/device_kernels.py --check

# Estimates small rows of the security table again. The estimators are not in package registries: ESTIMATOR and ROTATIONS are folders of clones,
# ESTIMATOR_PYTHON is a Python with Sage.
ESTIMATOR_PYTHON ?= $(PYTHON)
ESTIMATES := $(if $(ESTIMATOR),--estimator "$(ESTIMATOR)") $(if $(ROTATIONS),--rotations "$(ROTATIONS)")
test-estimates:
ifeq (,$(strip $(ESTIMATES)))
	@echo "test-estimates: skipped, because neither ESTIMATOR nor ROTATIONS names a clone of an estimator (scripts/estimate_security.py says which)"
else
	$(ESTIMATOR_PYTHON) scripts/estimate_security.py --small $(ESTIMATES)
endif

# Compiles the kernels after a change.
kernels: $(VENV)/.cuda
	$(BIN)/python scripts/device_kernels.py

# Samples of other libraries, which it builds (a few minutes the first time).
test-interop:
	cd interop/tfhe && $(CARGO) test --locked --release

# Tests that need a GPU: every operation, complete circuits, and a part of the tests of all layers, with single launches and with graphs.
test-device: build
	CLATHRATE_TEST_ENGINE=cuda $(CARGO) test --locked --release -p clathrate-cuda --features clathrate-cuda/driver,clathrate-cuda/host-device --test stand_in
	for engine in cuda cuda-graphs; do \
	    CLATHRATE_TEST_ENGINE=$$engine $(CARGO) test --locked --release $(DEVICE_PART) && \
	    CLATHRATE_TEST_ENGINE=$$engine $(CARGO) test --locked --release $(DEVICE_FILES) && \
	    CLATHRATE_TEST_ENGINE=$$engine $(CARGO) test --locked --release --workspace --test all -- devices:: --test-threads=1 && \
	    CLATHRATE_TEST_ENGINE=$$engine $(BIN)/python -m pytest -q tests/python/test_devices.py || exit 1; \
	done

# Wheels for Linux with glibc 2.28 or later, linked by zig. The wheel for Arm needs a Rust toolchain managed by rustup.
$(VENV)/.wheels: requirements/wheels.txt $(VENV)/.tools
	$(BIN)/pip install --quiet -r requirements/wheels.txt
	touch $@

WHEEL := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --zig --compatibility manylinux_2_28 --out dist --quiet

wheels: $(VENV)/.wheels
	rm -rf dist
	$(WHEEL) --target x86_64-unknown-linux-gnu
	if rustup target add aarch64-unknown-linux-gnu; then $(WHEEL) --target aarch64-unknown-linux-gnu; else echo "no wheel for Arm: rustup has no toolchain for it"; fi

test-wheels: wheels
	$(BIN)/python scripts/try_wheels.py dist

# One page of benchmarks: bench/pages/SET.toml says which programs run, for how long at most, and what the page has. Without SET ours and other
# libraries in one run, which prints its table.
SET ?= ckks
# Pages with NumPy's products, or with plots that belong to them, take the tools of the virtual environment; the others need Python alone.
# Pages of arrays and programs run the package.
BENCH_TOOLS := $(if $(filter mambo matrix pairs,$(SET)),$(VENV)/.tools)$(if $(filter arrays prices programs,$(SET)),$(VENV)/.built)
bench: $(BENCH_TOOLS)
	$(CARGO) build --release --locked -p clathrate-bench
ifeq (ckks,$(SET))
	$(CARGO) bench --locked --quiet -p clathrate-arith --bench ntt
	$(CARGO) bench --locked --quiet -p clathrate-arith --bench product
endif
	$(if $(BENCH_TOOLS),$(BIN)/python,$(PYTHON)) bench/run.py $(SET)$(if $(DEVICE), --device $(DEVICE))

# The documentation as a site that needs no network: open site/index.html.
$(VENV)/.docs: requirements/docs.txt | $(BIN)/pip
	$(BIN)/pip install --quiet -r requirements/docs.txt
	touch $@
docs: build $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 PATH="$(BIN):$$PATH" $(BIN)/mkdocs build --strict --quiet

lint: build
	$(CARGO) fmt --all --check
	$(BIN)/python scripts/comments.py --check
	cd interop/tfhe && $(CARGO) fmt --check
	cd interop/tfhe && $(CARGO) update --workspace --locked --quiet
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --locked --quiet
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy --strict -p clathrate
	$(BIN)/python -m mypy --strict tests/python/typing_usage.py
	$(BIN)/python -m mypy.stubtest clathrate --allowlist tests/python/stubtest_allowlist.txt
	$(BIN)/python scripts/stub.py --check
	$(BIN)/python scripts/numpy_table.py --check
	$(BIN)/python scripts/notebooks.py --check

clean:
	rm -rf target $(VENV) demo-output site
