# Everything a newcomer needs: `make demo` and `make test`. Both build the project's own .venv first.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CORE := CMakeLists.txt $(wildcard src/qckm/kernels/core/*.[ch])
CODE := conftest.py src tests experiments examples benchmarks docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-collector test-engines test-dask test-spark test-ray check format lint types strict test-sanitizers test-wheel test-lowest test-browser test-gpu test-cortex-m0 test-targets kills fuzz mutants experiments sensor-cost bench bench-gpu paper paper-quick docs figures notebooks try-it pictures clean

help:  ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(READY): pyproject.toml $(CORE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	tests/with-compiler.sh $(abspath $(BIN))/python $(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: $(READY)  ## a Parquet file of a million rows → qckm fit → report, beside KMeans; writes demo-output/
	$(BIN)/python examples/demo.py

test: $(READY)  ## run the tests
	tests/install-tools.sh host
	$(BIN)/python -m pytest -q -n 2 --ignore tests/browser --ignore tests/packaging --ignore tests/targets -m "not engine and not peer"

test-engines: test-dask test-spark test-ray  ## run the tests that start a cluster: Dask, Spark, Ray (installs Ray)

test-collector: $(READY)  ## the collector with PostgreSQL and mosquitto (installs Debian's), killed, attacked, under load (ten minutes)
	tests/install-tools.sh peers
	$(BIN)/python -m pytest -q -rs tests/collector

test-dask: $(READY)
	$(BIN)/python -m pytest -q tests/engines/test_dask.py tests/engines/test_files.py tests/engines/test_far_away.py -k "not spark and not ray and not connect and not server"

test-spark: $(READY)
	command -v java >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends default-jre-headless; }
	$(BIN)/python -m pytest -q tests/engines/test_spark.py tests/engines/test_spark_stream.py
	$(BIN)/python -m pytest -q tests/engines/test_files.py tests/engines/test_far_away.py -k "spark or connect or server"

test-ray: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[ray]"
	$(BIN)/python -m pytest -q tests/engines/test_ray.py
	$(BIN)/python -m pytest -q tests/engines/test_files.py -k ray

check: lint types strict test test-sanitizers test-cortex-m0  ## what CI runs: format, lint, types, tests, sanitizers, a sensor's microcontroller, Dask, Spark
	$(MAKE) --jobs=2 --output-sync test-dask test-spark

format: $(READY)  ## rewrite the code in house style
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

lint: $(READY)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)

types: $(READY)
	$(BIN)/mypy

strict: $(READY)  ## the C core without a warning, by each of gcc and clang that is here
	for compiler in gcc clang; do command -v $$compiler >/dev/null || continue; \
	    CC=$$compiler $(BIN)/cmake -S . -B build/strict-$$compiler -G Ninja -DQCKM_STRICT=ON --log-level=NOTICE && \
	    $(BIN)/cmake --build build/strict-$$compiler || exit 1; done

test-sanitizers: $(READY)  ## the C core's tests with AddressSanitizer and UndefinedBehaviorSanitizer, threads with ThreadSanitizer
	tests/install-tools.sh compiler
	tests/kernels/sanitized.sh $(BIN)

test-wheel: $(READY)  ## sdist and wheel in a clean environment, with a C compiler and without; WHEEL_PYTHON=python3.13 for another Python
	$(BIN)/python -m pytest -q tests/packaging

test-lowest: pyproject.toml tests/lowest.txt  ## run the tests with the oldest dependencies we promise
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade pip
	tests/with-compiler.sh $(abspath .venv-lowest)/bin/python .venv-lowest/bin/python -m pip install --quiet --requirement tests/lowest.txt --editable .
	.venv-lowest/bin/python -m pytest -q -n 2 --dist loadfile --ignore tests/packaging

test-browser: $(READY)  ## the report and the page to try it in headless Chromium (Debian: apt-get install chromium chromium-driver)
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || { apt-get update && apt-get install --yes chromium chromium-driver; }
	$(BIN)/python -m pytest -q tests/browser

test-gpu: $(READY)  ## the GPU's kernels on this machine's GPU (installs CuPy)
	$(BIN)/python -m pip install --quiet --editable ".[gpu]"
	$(BIN)/python -m pytest -q -rs tests/kernels/test_gpu.py tests/engines/test_gpu_rows.py

test-cortex-m0: $(READY)  ## the sensor's encoder on an emulated Cortex-M0 (installs Debian's tools)
	tests/install-tools.sh cortex-m
	$(BIN)/python -m pytest -q -rs tests/targets -k cortex-m0

test-targets: $(READY)  ## the same on Cortex-M0, M3, M4, AVR, RISC-V, and as simulated hardware; the core on emulated ARM and s390x; recipes there and as WebAssembly
	tests/install-tools.sh host cpus cortex-m avr riscv wasm verilog
	$(BIN)/python -m pytest -q -rs tests/sensor tests/targets

fuzz: $(READY)  ## read damaged and forged files: INPUTS=60000 in a few minutes, SEED=… as before, ONLY=models NUMBER=… one alone
	cd tests && ../$(BIN)/python -m fuzz $(ONLY) $(if $(INPUTS),--inputs $(INPUTS)) $(if $(SEED),--seed $(SEED)) $(if $(NUMBER),--number $(NUMBER)) $(if $(RECORD),--record)

kills: $(READY)  ## kill -9 a resumable sketch 200 times, and compare the bytes
	$(BIN)/python experiments/kills.py --kills 200

# Not the project's own .venv: sources elsewhere must come before the installed ones, and mutmut needs an older pytest.
mutants: pyproject.toml  ## plant small faults in operator/, sketch/, planning/, decoding/, privacy/ and count those that no test notices; MUTANTS='qckm.sketch.*' (hours; resumes)
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --upgrade pip
	tests/with-compiler.sh $(abspath .venv-mutants)/bin/python .venv-mutants/bin/python -m pip install --quiet ".[privacy]" "mutmut>=3.8,<4" "pytest<9" pytest-timeout hypothesis duckdb pandas polars
	OMP_NUM_THREADS=1 QCKM_CORE=$$(cd / && $(abspath .venv-mutants)/bin/python -c "from qckm.kernels import library; print(library.load()._name)") \
	    .venv-mutants/bin/mutmut run --max-children 2 $(or $(MUTANTS),'*3' '*7')
	$(BIN)/python experiments/mutants.py

experiments: $(READY)  ## measure again all that experiments/results holds (hours; what is there is not run again)
	cd experiments && for name in clompr quantisation defaults structured octaves seeded recipe default_m same_decodes choosing_k heavy_tails mixtures exact_pca pca anomalies; do ../$(BIN)/python $$name.py || exit 1; done
	cd experiments && ../$(BIN)/python -m decoder
	cd experiments && ../$(BIN)/python -m drift

sensor-cost: $(READY)  ## flash, RAM and instructions of the sensor's encoder; rewrites experiments/results/sensor_*.csv (ten minutes)
	tests/install-tools.sh cortex-m avr riscv verilog
	cd experiments && ../$(BIN)/python sensor_cost.py && ../$(BIN)/python mac_cost.py && ../$(BIN)/python sensor_gates.py

paper: $(READY)  ## the paper's figures, 100 trials a cell (hours; resumes); FEATURES=mnist_spectral.npz for figure 3
	cd experiments && nice ../$(BIN)/python -m paper $(if $(FEATURES),--features $(abspath $(FEATURES)))

paper-quick: $(READY)  ## a coarse grid of the paper's figures (minutes), in build/paper-quick
	cd experiments && ../$(BIN)/python -m paper --quick --results ../build/paper-quick

$(VENV)/.docs-ready: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

docs: $(VENV)/.docs-ready  ## build the site in docs/_build/html, offline, warnings as errors, and check its links and spelling
	$(BIN)/codespell --skip '*.ipynb' README.md CHANGELOG.md CONTRIBUTING.md docs experiments benchmarks examples src
	rm -rf docs/_build docs/gallery docs/tutorials
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

figures: $(READY)  ## fill in the figures of README and docs from the committed results
	$(BIN)/python docs/figures

notebooks: $(READY)  ## write the tutorials as notebooks, run, with their pictures (a minute)
	$(BIN)/python docs/notebooks.py

try-it: $(READY)  ## compile the encoder of the page docs/browser/site/try/index.html to WebAssembly (Debian: apt-get install clang lld)
	command -v wasm-ld >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends clang lld; }
	$(BIN)/python docs/browser/build.py

pictures: $(READY)  ## draw the pictures of docs/how-it-works.md again
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/idea.py

bench-gpu: $(READY)  ## the GPU's kernels against the card's ceilings and PyTorch; rewrites benchmarks/results/gpu.md
	$(BIN)/python -m pip install --quiet --editable ".[gpu]" torch
	$(BIN)/python -m benchmarks.gpu

bench: $(READY)  ## measure speed against peers, with targets; rewrites benchmarks/results/ (five minutes)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.growth

clean:  ## remove what make made
	rm -rf $(VENV) .venv-lowest .venv-mutants mutants demo-output build dist docs/_build docs/gallery docs/tutorials .pytest_cache .mypy_cache .ruff_cache .hypothesis
