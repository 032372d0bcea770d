# make            set up, then every table and figure at the scale of config.yaml (quick)
# make test       set up, then the tests
# make help       the other targets

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
COMMAND := $(BIN)/fairfl
SITE   := $(VENV)/docs-ready
ARGS   ?=
RUN    := PYTHONPATH=src $(BIN)/python -P -m fairfl run

.PHONY: all stored-results report archive calibrate setup test test-long test-fast durations check-golden bench bench-check gpu-check soak lint format schemas reference lock docs rulegraph tag clean help
.DEFAULT_GOAL := all

all: $(READY) $(COMMAND)  ## every artifact; ARGS="--config scale=small" and other Snakemake options are passed on
	@$(RUN) --cores all $(ARGS)

stored-results: $(READY)  ## every table and figure at full scale from stored results alone: no data, no network, no training
	@$(RUN) --cores all $(ARGS) --config scale=full recorded=only

report: $(READY)  ## docs/papers/*.md, what the documentation derives, and results/recorded/*.csv, from stored results alone
	@$(RUN) --cores all $(ARGS) --config scale=full recorded=only -- reproduction

archive: stored-results  ## dist/fairfl-*.zip: source, stored results, page, tables and figures, to be given a DOI (.zenodo.json)
	@test -z "$$(git status --porcelain --untracked-files=no)" || { echo "there are changes that are not committed: git status"; exit 1; }
	@name=fairfl-$$($(VERSION))-$$(git rev-parse --short=12 HEAD) && mkdir -p dist && \
		built=$$(find results/full -maxdepth 2 -type f -name '*.[chmpt]*' | sort | sed -E "s|(.*/)[^/]+|--prefix=$$name/\1 --add-file=&|") && \
		git archive --output=dist/$$name.zip $$built --prefix=$$name/ HEAD && echo "wrote dist/$$name.zip"

calibrate: $(READY)  ## search unstated facts on FedAvg, print the YAML to paste; ARGS="--config scale=full papers=focus"
	@$(RUN) --cores all $(ARGS) -- calibrated

setup: $(READY) $(COMMAND)  ## the pinned environment in .venv, and the command .venv/bin/fairfl; CPU=1: torch without CUDA

# The code of the clone that one stands in, else of the one whose .venv this is; .venv may be a link.
$(COMMAND): Makefile | $(READY)
	@printf '%s\n' '#!/bin/sh' 'bin=$$(cd "$$(dirname "$$0")" && pwd)' 'root=$$PWD' \
		'while [ "$$root" ] && ! { [ -e "$$root/Snakefile" ] && [ -d "$$root/src/fairfl" ]; }; do root=$${root%/*}; done' \
		'PYTHONPATH="$${root:-$${bin%/.venv/bin}}/src$${PYTHONPATH:+:$$PYTHONPATH}" exec "$$bin/python" -P -m fairfl "$$@"' > $@
	@chmod +x $@

# With CPU=1: torch without CUDA from where PyTorch publishes it, the other packages of the lock but those for CUDA.
CPU_INDEX ?= https://download.pytorch.org/whl/cpu
CPU_TORCH ?= $(shell sed -nE 's/^((torch|torchvision)==[0-9.]+).*/\1/p' envs/requirements.lock)
NO_CUDA    = awk '/^[a-z]/ {keep = !/^(cuda-|nvidia-|torch==|torchvision==|triton==)/} keep' envs/requirements.lock
PIP        = $(BIN)/pip install $$(test -t 1 || echo --quiet) --disable-pip-version-check

# By content, not by date: a clone that shares an environment, whose files are younger, has it already.
$(READY): envs/requirements.lock
	@cmp -s $< $(VENV)/installed.lock || $(MAKE) --no-print-directory install
	@touch $@

.PHONY: install
install:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "fairfl needs Python >= 3.11; name one with: make PYTHON=python3.12"; exit 1; }
	@echo "setting up 1/2: an environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
ifdef CPU
	@echo "setting up 2/2: $(CPU_TORCH) for CPUs, and the other packages of envs/requirements.lock (2 GB, a few minutes)"
	@$(PIP) --no-deps $(CPU_TORCH) $(if $(CPU_INDEX),--index-url $(CPU_INDEX)) || { echo "from elsewhere: make CPU=1 CPU_INDEX= CPU_TORCH=torch==..."; exit 1; }
	@$(NO_CUDA) > $(VENV)/cpu.lock
	@$(PIP) --no-deps --require-hashes -r $(VENV)/cpu.lock
else
	@echo "setting up 2/2: the packages of envs/requirements.lock (torch with CUDA: about 6 GB, a few minutes)"
	@$(PIP) --require-hashes -r envs/requirements.lock
endif
	@cp envs/requirements.lock $(VENV)/installed.lock

test: $(READY)  ## all tests but the long ones; three processes for two cores, since some mostly wait
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m "not long" --junitxml=.pytest_cache/test.xml

test-long: $(READY)  ## those that kill, damage and repair whole workflows, or submit them to a cluster: minutes
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m long --junitxml=.pytest_cache/long.xml

durations: $(READY)  ## tests/durations.csv, the seconds of each file of tests, from the last `make test` and `make test-long`
	$(BIN)/python -m tests.durations $(ARGS)

test-fast: $(READY)  ## the tests that need no workflow, no real data and no long training: minutes
	$(BIN)/python -m pytest -n 2 -m "not slow" tests/unit

check-golden: $(READY)  ## compare results/quick with the committed checksums; ARGS=--write updates them
	PYTHONPATH=src $(BIN)/python -m tests.golden $(ARGS)

bench: $(READY)  ## fairfl's speed beside its peers and the hardware's peak, into benchmarks/results; ARGS are passed on
	PYTHONPATH=src $(BIN)/python -m benchmarks run $(ARGS)

bench-check: $(READY)  ## a short run; fails if fairfl is slower than in the committed results, or than a plain loop
	PYTHONPATH=src $(BIN)/python -m benchmarks check $(ARGS)

gpu-check: $(READY)  ## is this GPU fit: equal numbers, repeated runs, speed, runs per card; under ten minutes; ARGS="--device cpu"
	PYTHONPATH=src $(BIN)/python -m benchmarks.gpu_check $(ARGS)

soak: $(READY)  ## kill, damage and edit a small workflow at random for 20 minutes; ARGS="--kills 200 --minutes 60 --seed 1"
	PYTHONPATH=src $(BIN)/python -m tests.soak $(ARGS)

lint: $(READY)  ## ruff, mypy, import-linter, budgets of tokens, words and habits, snakefmt, codespell, snakemake --lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python -m tests.budgets
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/codespell
	@! git grep -nE '^(<{7}|>{7}) '  # marks that a conflict has left, also where no tool looks: in Markdown, YAML
	$(BIN)/snakemake --lint

format: $(READY)  ## let the formatters rewrite the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

schemas: $(READY)  ## write schemas/*.json from the typed specs
	PYTHONPATH=src $(BIN)/python -m fairfl.experiments.schemas

reference: $(READY)  ## write docs/reference.md (metrics, units, claims, plots) and docs/configuration.md (keys of config.yaml)
	PYTHONPATH=src $(BIN)/python -m tests.reference docs

COMPILE = uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header

lock:  ## resolve envs/*.lock anew (needs uv)
	$(COMPILE) --extra slurm --extra text --extra privacy --extra dev pyproject.toml -o envs/requirements.lock
	$(COMPILE) --group docs -c envs/requirements.lock -o envs/docs.lock

docs: $(SITE)  ## the documentation as a site in site/; fails on a broken link
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html in a browser"

$(SITE): envs/docs.lock | $(READY)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r envs/docs.lock
	@touch $@

rulegraph: $(READY)  ## draw docs/rules.svg from the rules, without edges that follow from others (needs graphviz)
	$(BIN)/snakemake --quiet all --rulegraph --config scale=full recorded=ignore -- page calibrated tuned | tred | \
		sed 's/color="[^"]*"/color=steelblue/' | dot -Grankdir=LR -Tsvg -o docs/rules.svg

VERSION = $(PYTHON) -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])'

tag:  ## a git tag for the version in pyproject.toml, which CHANGELOG.md and CITATION.cff must have too; refuses a dirty tree
	@test -z "$$(git status --porcelain)" || { echo "there are changes that are not committed: git status"; exit 1; }
	@version=$$($(VERSION)) && \
		{ grep -qF "## [$$version]" CHANGELOG.md || { echo "CHANGELOG.md has no section [$$version]"; exit 1; }; } && \
		{ grep -qx "version: $$version" CITATION.cff || { echo "CITATION.cff has another version than $$version"; exit 1; }; } && \
		git tag -a "v$$version" -m "fairfl $$version" && \
		echo "tagged v$$version; publish it with: git push origin v$$version"

clean:  ## remove results and Snakemake's records; data, .venv and stored results stay
	rm -rf .snakemake $(filter-out results/recorded,$(wildcard results/* results/.[!.]*))

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16
