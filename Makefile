# One command a task. `make help` lists them. Everything is set up in .venv and the user's cache;
# README.md says what must be there before, and `deploy/machine.py` asks for it.

PYTHON ?= python3
BIN := .venv/bin
CODE := tsproxy spark_reports tests rigs conftest.py deploy benchmarks
PROCESSES ?= 4
SPENT = $(BIN)/python -m deploy.spent
SHARED = -n $(PROCESSES) -p tests.sharing
QUICK := -m "not broker and not spark and not slow"

# Tests start hundreds of processes, which would all compile the code anew.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
# Each target that `make help` lists is a command, not a file.
.PHONY: help machine $(shell sed -n 's/^\([a-z-]*\):.*##.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) ":" } /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Begin with these three
demo: machine .venv/stamp ## real producers -> tsproxy -> Kafka -> report; it ends with a proof that all counts agree
	@$(SPENT) $(BIN)/python -m deploy.demo

setup: .venv/stamp ## make .venv and install everything in it, pinned

# A machine that lacks something should hear so before anything is downloaded.
machine:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON). To install it: $$(grep -m1 '^apt-get install' README.md)"; exit 1; }
	@$(if $(wildcard .venv/stamp),$(BIN)/python,$(PYTHON)) -m deploy.machine

# The one that Python builds extensions with, unless CC names another.
COMPILER = $(firstword $(if $(filter environment command,$(origin CC)),$(CC),$(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("CC"))')))

.venv/stamp: requirements.lock pyproject.toml setup.py $(wildcard tsproxy/wire/readers/_native/*.p[xy][dx] tsproxy/fastpath/_native/*.p[xy][dx] tsproxy/proxy/pipe/*.pyx) | machine
	@echo "Installing the packages of requirements.lock into .venv: 590 MB, once. This takes some minutes."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m deploy.install -r requirements.lock
	@echo "Compiling tsproxy's native code: a minute or two."
	@if ! command -v $(COMPILER) >/dev/null; then \
	    echo "There is no C compiler ($(COMPILER)), so one is installed into .venv as a package: 90 MB."; \
	    $(BIN)/python -m deploy.install ziglang==0.17.1; \
	    export CC="$(CURDIR)/$(BIN)/python -m ziglang cc"; \
	fi; \
	$(BIN)/python -m deploy.install --no-deps --no-build-isolation -e .
	@touch $@

test-quick: PROCESSES = 3
test-quick: .venv/stamp ## all tests that need no broker, no Spark and no Java: about a minute
	TSPROXY_TEST=quick $(BIN)/python -m pytest $(SHARED) $(QUICK)

##@ Check and test
test: machine .venv/stamp lint ## make lint, and a test of each behaviour, against real brokers (large spaces are sampled)
	$(SPENT) $(BIN)/python -m pytest $(SHARED)

test-full: machine .venv/stamp lint ## all tests, without sampling
	TSPROXY_TEST=full $(SPENT) $(BIN)/python -m pytest $(SHARED)

test-clients: machine .venv/stamp ## Kafka clients in Go and Node against a real cluster (make test has the others)
	TSPROXY_CLIENTS=foreign $(BIN)/python -m pytest tests/clients

test-deploy: machine .venv/stamp ## chart, alerts and dashboards, with Prometheus's and Kubernetes' own tools (built with Go)
	TSPROXY_DEPLOY=tools $(BIN)/python -m pytest tests/deploy --timeout=1800  # the first tests build the tools

lint: .venv/stamp ## ruff, mypy --strict, import layers, lines per package
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m deploy.lines

format: .venv/stamp ## format the code with ruff
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

N ?= 100000
SEED ?= 2026
##@ Long runs against brokers, simulations and fuzzers: minutes to hours (rigs/README.md)
differential: machine .venv/stamp ## N generated batches to two Kafka versions, directly and through the proxy
	$(BIN)/python -m rigs.differential $(N) --seed $(SEED)

matrix: machine .venv/stamp ## each promised version of Spark and Kafka, and aarch64 under qemu (or MORE='--spark 4.1.4'), for docs/reference/support.md
	$(BIN)/python -m rigs.matrix $(MORE)

VERSION ?= RELEASE
kafka: machine .venv/stamp ## what is new in a Kafka release (VERSION, SINCE), and which places here must change
	$(BIN)/python -m tests.wire.schemas $(VERSION) $(SINCE)

SAMPLE ?= 100
mutation: .venv/stamp ## mutation tests of wire, policy and session: SAMPLE mutants of each by SEED
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mutmut==3.8.1
	$(BIN)/python -m rigs.mutation --sample $(SAMPLE) --seed $(SEED)

CORE := tests/wire tests/policy tests/session tests/model tests/fastpath tests/verdicts
coverage: .venv/stamp ## branch coverage of the core, without a broker
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage==7.17.3
	TSPROXY_TEST=quick $(BIN)/python -m coverage run --branch --source=tsproxy.wire,tsproxy.policy,tsproxy.session \
		-m pytest -q $(QUICK) $(CORE)
	$(BIN)/python -m coverage report --skip-covered --sort=cover

SUITES ?= bookworm trixie forky
fresh: .venv/stamp ## README's commands in empty Debian roots (SUITES); needs root and debootstrap
	$(BIN)/python -m rigs.fresh $(SUITES)

MINUTES ?= 1
fuzz: .venv/stamp ## coverage-guided fuzzing, MINUTES per target; the native code too if clang and gcc are there
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0
	$(BIN)/python -m rigs.fuzz --minutes $(MINUTES)
	if command -v gcc >/dev/null; then $(BIN)/python -m tests.fastpath.memory_safety --seeds 60; fi

CONNECTIONS ?= 10000
ADVERSARIES ?= 0
simulate: .venv/stamp ## CONNECTIONS on a simulated loop, clock and network, with faults by SEED and ADVERSARIES
	$(BIN)/python -m rigs.simulated --connections $(CONNECTIONS) --seed $(SEED) --adversaries $(ADVERSARIES)

ROUNDS ?= 10
ATTACKERS ?= 0
MORE ?=
chaos: machine .venv/stamp ## ROUNDS of faults by SEED on real brokers, with ATTACKERS; MORE=--families: clients of all families
	$(BIN)/python -m rigs.chaos --rounds $(ROUNDS) --seed $(SEED) --attackers $(ATTACKERS) $(MORE)

NAMES ?=
incidents: machine .venv/stamp ## incidents with real brokers: seconds until an operator is told the cause; NAMES picks some
	$(BIN)/python -m rigs.incidents $(NAMES)

truth: machine .venv/stamp ## clients, topics, log and report agree on every record, however a broker ends it
	TSPROXY_TEST=full $(BIN)/python -m pytest rigs/truth

schedules: machine .venv/stamp ## three nights of each shipped schedule: systemd, cron (root), Airflow, Spark, Helm
	TSPROXY_TEST=full TSPROXY_DEPLOY=tools $(BIN)/python -m pytest tests/spark_reports/test_schedules.py

soak: MINUTES = 60
soak: machine .venv/stamp ## MINUTES of mixed traffic by SEED, reloads and restarts: memory, descriptors and tasks must not grow
	$(BIN)/python -m rigs.chaos --soak $(MINUTES) --seed $(SEED) --attackers 1

##@ Benchmarks
bench: .venv/stamp ## the benchmarks, as ratios within one run
	$(BIN)/python -m benchmarks

bench-reports: machine .venv/stamp ## the cost of the Spark reports (14 GB of scratch space)
	$(BIN)/python -m benchmarks.reports

##@ Documents and releases
generated: .venv/stamp ## rewrite the pages and schemas that are made from tables in the code
	$(BIN)/python -m tests.documents.generated

PAGE ?= docs/guide/tutorial.md
docs-run: machine .venv/stamp ## follow a page word for word: PAGE=docs/guide/how-to/backfill.md
	$(BIN)/python -m tests.documents $(PAGE)

pyfiles: .venv/stamp ## dist/spark_reports-pyfiles.zip, for spark-submit --py-files
	$(BIN)/python -m deploy.spark.pyfiles dist/spark_reports-pyfiles.zip

# Tools of their own: the site needs nothing of the project, and nothing else needs them.
.venv/site/stamp: deploy/site/tools.lock
	$(PYTHON) -m venv .venv/site
	.venv/site/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/site/tools.lock
	@touch $@

docs: .venv/site/stamp ## the documents as a web site in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 .venv/site/bin/python -m mkdocs build --strict --quiet

.venv/release/stamp: deploy/release/tools.lock .venv/stamp
	$(BIN)/python -m venv .venv/release
	.venv/release/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/release/tools.lock
	@touch $@

AUDIT ?= needed
TAG ?= needed
WHEELS ?= all
release: machine .venv/release/stamp ## dist/ with all files of a release, built twice and tested (CONTRIBUTING.md)
	$(BIN)/python -m deploy.release --audit $(AUDIT) --tag $(TAG) --wheels $(WHEELS)

deb: .venv/release/stamp ## dist/tsproxy_VERSION.deb, for Debian and Ubuntu with this Python (docs/guide/operations.md)
	$(BIN)/python -m deploy.release.debian

clean: ## delete .venv and all builds (the cache of jars stays)
	rm -rf .venv build dist mutants *.egg-info demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis
