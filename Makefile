# make            set up, then every table and figure at the scale of config.yaml (quick)
# make test       set up, then all tests
# make help       the other targets

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
ARGS   ?=

.PHONY: all setup test test-fast golden bench bench-check soak lint format schemas lock report clean help
.DEFAULT_GOAL := all

all: $(READY)  ## every artifact; ARGS="--config scale=small" and other Snakemake options are passed on
	@$(BIN)/snakemake --cores all --quiet rules host $(ARGS)
	@echo "open results/*/index.html in a browser: every table and figure beside the paper's numbers"

setup: $(READY)  ## the pinned environment in .venv

$(READY): envs/requirements.lock
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "fairfl needs Python >= 3.11; name one with: make PYTHON=python3.12"; exit 1; }
	@echo "setting up $(VENV) (torch with CUDA: about 6 GB, a few minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r envs/requirements.lock
	@touch $@

test: $(READY)  ## all tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-fast: $(READY)  ## the tests that need no workflow and no long training: a minute
	$(BIN)/python -m pytest -n 2 -m "not slow" tests/unit

golden: $(READY)  ## hold results/quick against the committed digests; ARGS=--write replaces those
	PYTHONPATH=src $(BIN)/python -m tests.golden $(ARGS)

bench: $(READY)  ## fairfl's speed beside its peers and the hardware's peak, into benchmarks/results; ARGS are passed on
	PYTHONPATH=src $(BIN)/python -m benchmarks run $(ARGS)

bench-check: $(READY)  ## a short run; fails if fairfl is slower than in the committed results
	PYTHONPATH=src $(BIN)/python -m benchmarks check $(ARGS)

soak: $(READY)  ## kill and damage a small workflow at random for 20 minutes; ARGS="--kills 200 --minutes 60 --seed 1"
	PYTHONPATH=src $(BIN)/python -m tests.soak $(ARGS)

lint: $(READY)  ## ruff, snakefmt, snakemake --lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint

format: $(READY)  ## let the formatters rewrite the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

schemas: $(READY)  ## write schemas/*.json from the typed specs
	PYTHONPATH=src $(BIN)/python -m fairfl.experiments.schemas

lock:  ## resolve envs/requirements.lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	    --extra slurm --extra text --extra privacy --extra dev pyproject.toml -o envs/requirements.lock

clean:  ## remove results and Snakemake's records; data and .venv stay
	rm -rf results .snakemake

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12
