# The project's entry points. Everything installs into .venv and target/; nothing outside the checkout is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name '*.toml' -o -name '*.csv' -o -name '*.cuh' -o -name '*.ptx')

.PHONY: check demo example-layers example-mlp example-sensors test test-rust test-python test-full test-device test-interop test-kernels test-estimates kernels wheels test-wheels bench bench-keyswitch bench-dpad bench-bootstrap bench-packing bench-hermes bench-mambo bench-matrix bench-pairs bench-gpu docs lint build clean help

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
	@echo "make bench-keyswitch  every way to switch keys at every level, beside the papers' numbers (QUICK=1: half a minute, small degrees)"
	@echo "make bench-dpad  RNS-CKKS, ModHE and DPad-HE at the paper's sets, beside its numbers (QUICK=1: half a minute, small degrees)"
	@echo "make bench-bootstrap  bootstraps by stage, with precision, keys and memory, beside other libraries (QUICK=1: seconds, a small degree, ours only)"
	@echo "make bench-packing  LWE samples into ciphertexts by every method, beside the paper's numbers (QUICK=1: seconds, a small degree)"
	@echo "make example-sensors  many small clients, a server that packs and bootstraps what they send, a picture"
	@echo "make test-interop  samples of other libraries, packed and bootstrapped"
	@echo "make bench-hermes  samples to slots and transciphering, beside the paper's numbers (QUICK=1: seconds, a small degree)"
	@echo "make bench-mambo   batches of bootstraps and products inside them, beside the paper's numbers (QUICK=1: seconds, a small degree)"
	@echo "make bench-matrix  plain matrices times encrypted ones, beside plain products and the paper's numbers (QUICK=1: seconds, a small degree)"
	@echo "make bench-pairs  products of two encrypted matrices, beside plain products and the slot-wise algorithm (QUICK=1: seconds, small degrees)"
	@echo "make test-device  tests on an NVIDIA graphics processor, where the machine has one"
	@echo "make bench-gpu  operations on a graphics processor, predicted, or measured with DEVICE=cuda (QUICK=1: seconds, small degrees)"
	@echo "make docs       the documentation as a site in site/ (reads without a network)"
	@echo "make lint       formatting, clippy, ruff, type stubs"

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.tools: requirements/dev.txt | $(BIN)/pip
	$(BIN)/pip install --quiet -r requirements/dev.txt
	touch $@

# The wheel with optimised kernels, installed in the virtual environment.
# With a C++ compiler, the kernels of devices run on the processor, too, for tests (device="host-device").
HOST_DEVICE := $(if $(shell command -v c++),--features host-device)
$(VENV)/.built: $(SOURCES) $(VENV)/.tools
	$(BIN)/maturin develop --release --quiet $(HOST_DEVICE)
	touch $@

build: $(VENV)/.built

demo: build
	$(BIN)/python examples/digits/run.py --output demo-output

# A real transformer's linear layers on encrypted activations: installs the model (90 MB) and takes half a minute.
example-layers: build
	$(BIN)/pip install --quiet -r examples/private_linear_layers/requirements.txt
	$(BIN)/python examples/private_linear_layers/run.py --output demo-output/layers.png

# Two linear layers of a real transformer with an activation between them, by bootstraps with products inside: installs the model (90 MB), takes minutes and 16 GB of memory.
example-mlp: build
	$(BIN)/pip install --quiet -r examples/private_mlp/requirements.txt
	$(BIN)/python examples/private_mlp/run.py --output demo-output

# Many small clients against one server, which is killed on the way: keys of 128 bits of security, 3 GB.
example-sensors: build
	$(BIN)/python examples/sensors/run.py --output demo-output

test: test-rust test-python

# Before each commit: what fails most often, in under a minute after an edit.
check: $(VENV)/.tools
	$(CARGO) fmt --all --check
	$(BIN)/python scripts/comments.py --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --locked --quiet -p clathrate-testkit --test layers
	$(BIN)/python scripts/stub.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# A stand-in for NVIDIA's driver, which runs the kernels of devices on the processor and puts work off until it is waited for; with it in front, tests run on `cuda`.
STAND_IN := target/stand-in
$(STAND_IN)/libcuda.so: crates/cuda/tests/driver/driver.cpp $(wildcard crates/cuda/kernels/*.cuh) $(wildcard crates/cuda/kernels/*.h) crates/cuda/kernels/host.cpp crates/cuda/kernels/kernels.list
	mkdir -p $(STAND_IN)
	c++ -std=c++17 -O3 -shared -fPIC -ffp-contract=off -pthread -Wl,-Bsymbolic $< -o $@

ON_STAND_IN := LD_LIBRARY_PATH="$(CURDIR)/$(STAND_IN)$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" CLATHRATE_TEST_ENGINE=cuda-graphs

# A representative part once more on devices behind the driver's interface, whose memory the host cannot address.
DEVICE_PART := -p clathrate-lattice -p clathrate-ckks --test all -- bundle:: degree:: switch:: methods:: allocations:: evaluator:: ranks::
DEVICE_FILES := -p clathrate-ckks --test container -- files::

test-rust: $(STAND_IN)/libcuda.so
	$(CARGO) test --workspace --locked
	$(CARGO) test --locked --release -p clathrate-ckks --test constant_time
	$(ON_STAND_IN) $(CARGO) test --locked $(DEVICE_PART)
	$(ON_STAND_IN) $(CARGO) test --locked $(DEVICE_FILES)

test-python: build
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/python bench

test-full: build $(STAND_IN)/libcuda.so
	$(CARGO) test --workspace --locked --release -- --include-ignored
	$(ON_STAND_IN) $(CARGO) test --locked --release -p clathrate-lattice -p clathrate-ckks
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/python --full
	$(MAKE) test-kernels
	$(MAKE) test-estimates
	$(MAKE) test-interop
	$(MAKE) test-wheels

# The kernels of devices: sanitizers on this processor, and NVIDIA's compilers, which are installed for it (130 MB).
$(VENV)/.cuda: requirements/cuda.txt $(VENV)/.tools
	$(BIN)/pip install --quiet -r requirements/cuda.txt
	touch $@

test-kernels: $(VENV)/.cuda
	$(BIN)/python scripts/sanitize_kernels.py
	$(BIN)/python scripts/device_kernels.py --check

# Small rows of the security table, estimated again. The estimators are not in package registries: ESTIMATOR and ROTATIONS are folders of clones, ESTIMATOR_PYTHON a Python that has
# Sage.
ESTIMATOR_PYTHON ?= $(PYTHON)
ESTIMATES := $(if $(ESTIMATOR),--estimator "$(ESTIMATOR)") $(if $(ROTATIONS),--rotations "$(ROTATIONS)")
test-estimates:
ifeq (,$(strip $(ESTIMATES)))
	@echo "test-estimates: skipped, because neither ESTIMATOR nor ROTATIONS names a clone of an estimator (scripts/estimate_security.py says which)"
else
	$(ESTIMATOR_PYTHON) scripts/estimate_security.py --small $(ESTIMATES)
endif

# Compiles the kernels anew after a change.
kernels: $(VENV)/.cuda
	$(BIN)/python scripts/device_kernels.py

# Samples of other libraries, which are built for it: some minutes at first.
test-interop:
	cd interop/tfhe && $(CARGO) test --locked --release

# What needs a graphics processor: every operation, whole circuits, and those of the tests of all layers that change engines, kernel by kernel and in graphs.
test-device: build
	CLATHRATE_TEST_ENGINE=cuda $(CARGO) test --locked --release -p clathrate-cuda --features clathrate-cuda/driver,clathrate-cuda/host-device --test stand_in
	for engine in cuda cuda-graphs; do \
	    CLATHRATE_TEST_ENGINE=$$engine $(CARGO) test --locked --release $(DEVICE_PART) && \
	    CLATHRATE_TEST_ENGINE=$$engine $(CARGO) test --locked --release $(DEVICE_FILES) && \
	    CLATHRATE_TEST_ENGINE=$$engine $(CARGO) test --locked --release -p clathrate-ckks --test all -- devices:: --test-threads=1 && \
	    CLATHRATE_TEST_ENGINE=$$engine $(BIN)/python -m pytest -q tests/python/test_devices.py || exit 1; \
	done

# Wheels for any Linux with glibc 2.28 or later, linked by zig's linker; the one for Arm needs a Rust toolchain that rustup manages.
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

# Ours and the peers in one run: at most 15 minutes after the first installation, QUICK=1 at most 2.
bench:
	$(CARGO) build --release --locked -p clathrate-bench
	$(CARGO) bench --locked --quiet -p clathrate-arith --bench ntt
	$(CARGO) bench --locked --quiet -p clathrate-arith --bench product
	$(PYTHON) bench/tables.py ntt bench/results/ntt.json
	$(PYTHON) bench/tables.py product bench/results/product.json
	$(PYTHON) bench/peers/run.py install
	$(PYTHON) bench/run.py ckks --print --part clathrate 200 "target/release/clathrate-bench" --part peers 560 "$(PYTHON) bench/peers/run.py run"
	$(PYTHON) bench/overview.py

# Key switching at the papers' parameters: about 12 minutes and 10 GB of memory, on a quiet machine. A quick run has results of its own.
KEYSWITCH_RESULTS := keyswitch$(if $(filter-out 0,$(QUICK)),-quick)
bench-keyswitch:
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(KEYSWITCH_RESULTS) --total 1500 --part clathrate 1500 "target/release/clathrate-bench --set stream,keyswitch"
	$(PYTHON) bench/keyswitch.py bench/results/$(KEYSWITCH_RESULTS).json

# Bootstraps by stage and those of other libraries: about 25 minutes after the first installation and 18 GB of memory, on a quiet machine.
# A quick run has results of its own, and no other libraries.
BOOTSTRAP_RESULTS := bootstrap$(if $(filter-out 0,$(QUICK)),-quick)
# One program for each set, so that its peak of memory is its own.
BOOTSTRAP_SETS := boot_n15 boot_fast boot_fast_64 boot_default boot_small boot_precise
ifeq (,$(filter-out 0,$(QUICK)))
BOOTSTRAP_OURS := --part clathrate 60 "target/release/clathrate-bench --set stream,ntt" \
	$(foreach preset,$(BOOTSTRAP_SETS),--part clathrate 300 "target/release/clathrate-bench --set bootstrap --preset $(preset)")
else
BOOTSTRAP_OURS := --part clathrate 900 "target/release/clathrate-bench --set stream,ntt,bootstrap"
endif
BOOTSTRAP_PEERS := $(if $(filter-out 0,$(QUICK)),,--part peers 1000 "$(PYTHON) bench/peers/run.py bootstrap --limit 990")
bench-bootstrap:
	$(CARGO) build --release --locked -p clathrate-bench
ifeq (,$(filter-out 0,$(QUICK)))
	$(PYTHON) bench/peers/run.py install --peer poulpy --peer lattigo --peer openfhe
endif
	$(PYTHON) bench/run.py $(BOOTSTRAP_RESULTS) --total 1900 $(BOOTSTRAP_OURS) $(BOOTSTRAP_PEERS)
	$(PYTHON) bench/bootstrap.py bench/results/$(BOOTSTRAP_RESULTS).json
	$(PYTHON) bench/overview.py

# Ranks at the paper's parameters: about 9 minutes and 14 GB of memory, on a quiet machine. A quick run has results of its own.
DPAD_RESULTS := dpad$(if $(filter-out 0,$(QUICK)),-quick)
bench-dpad:
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(DPAD_RESULTS) --total 1500 --part clathrate 1500 "target/release/clathrate-bench --set dpad"
	$(PYTHON) bench/dpad.py bench/results/$(DPAD_RESULTS).json

# Packing of samples, beside the paper's numbers: under a minute and 4 GB of memory. A quick run has results of its own.
PACKING_RESULTS := packing$(if $(filter-out 0,$(QUICK)),-quick)
bench-packing:
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(PACKING_RESULTS) --total 300 --part clathrate 300 "target/release/clathrate-bench --set stream,packing"
	$(PYTHON) bench/packing.py bench/results/$(PACKING_RESULTS).json

# Batches of bootstraps that share masks, and products inside bootstraps, beside the paper's numbers: up to 45 minutes and 22 GB of memory, on a quiet machine.
MAMBO_RESULTS := mambo$(if $(filter-out 0,$(QUICK)),-quick)
bench-mambo: build
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(MAMBO_RESULTS) --total 3600 --part clathrate 3600 "target/release/clathrate-bench --set stream,mambo"
	$(BIN)/python bench/mambo.py bench/results/$(MAMBO_RESULTS).json

# Operations on a device, beside the paper's and published numbers: predicted times, and with DEVICE=cuda measured ones, in a few minutes.
GPU_RESULTS := gpu$(if $(filter-out 0,$(QUICK)),-quick)
bench-gpu:
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(GPU_RESULTS) --total 1500 --part clathrate 1500 "target/release/clathrate-bench --set device$(if $(DEVICE), --device $(DEVICE))"
	$(PYTHON) bench/gpu.py bench/results/$(GPU_RESULTS).json

# Samples to slots and transciphering, beside the paper's numbers: up to 45 minutes for ours, 15 for another library's, and 15 GB of memory, on a
# quiet machine. A quick run has results of its own, and no other library.
HERMES_RESULTS := hermes$(if $(filter-out 0,$(QUICK)),-quick)
bench-hermes:
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(HERMES_RESULTS) --total 2700 --part clathrate 2700 "target/release/clathrate-bench --set stream,hermes"
	$(PYTHON) bench/hermes.py bench/results/$(HERMES_RESULTS).json
ifeq (,$(filter-out 0,$(QUICK)))
	$(PYTHON) bench/peers/run.py install --peer openfhe
	$(PYTHON) bench/run.py hermes-openfhe --total 900 --part peers 900 "$(PYTHON) bench/peers/run.py samples --limit 890"
	$(PYTHON) bench/hermes.py bench/results/hermes-openfhe.json
endif

# Plain matrices times encrypted ones, beside plain products and the paper's numbers: about 30 minutes and 15 GB of memory, on a quiet machine. A
# quick run has results of its own.
MATRIX_RESULTS := matrix$(if $(filter-out 0,$(QUICK)),-quick)
# One program for each set, so that its peak of memory is its own; a quick run has one small set.
MATRIX_WORKS := stream_read,matrix_plain,matrix_apart,matrix_exact,matrix_own,matrix_prepared
ifeq (,$(filter-out 0,$(QUICK)))
MATRIX_OURS := --part clathrate 3600 "target/release/clathrate-bench --set stream,matrix --long --preset paper_pcmm --only $(MATRIX_WORKS)" \
	--part clathrate 1800 "target/release/clathrate-bench --set matrix --preset matmul --only $(MATRIX_WORKS)"
else
MATRIX_OURS := --part clathrate 3600 "target/release/clathrate-bench --set stream,matrix --only $(MATRIX_WORKS)"
endif
bench-matrix: build
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(MATRIX_RESULTS) --total 5400 \
		--part numpy 300 "$(BIN)/python bench/openblas.py $(if $(filter-out 0,$(QUICK)),16 64 256,256 512 1024 2048 4096 8192)" \
		$(MATRIX_OURS)
	$(BIN)/python bench/matrix.py bench/results/$(MATRIX_RESULTS).json

# Products of two encrypted matrices, beside plain products and the slot-wise algorithm, whose largest sizes (--long) take most of the time: about 25
# minutes and 11 GB of memory. A quick run has small sizes only, and results of its own.
PAIR_RESULTS := pairs$(if $(filter-out 0,$(QUICK)),-quick)
bench-pairs: build
	$(CARGO) build --release --locked -p clathrate-bench
	$(PYTHON) bench/run.py $(PAIR_RESULTS) --total 2700 \
		--part numpy 120 "$(BIN)/python bench/openblas.py$(if $(filter-out 0,$(QUICK)), 16 32)" \
		--part clathrate 2700 "target/release/clathrate-bench --set stream,matrix$(if $(filter-out 0,$(QUICK)),, --long) --only stream_read,pair_plain,pair_residues,pair_slots"
	$(BIN)/python bench/pairs.py bench/results/$(PAIR_RESULTS).json

# The documentation as a site that is read without a network: open site/index.html.
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
	$(BIN)/python scripts/notebooks.py --check

clean:
	rm -rf target $(VENV) demo-output site
