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
.PHONY: machine $(shell sed -n 's/^\([a-z-]*\):.*##.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@echo "Begin with: make demo, then make setup and make test-quick. All targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/stamp ## make .venv and install everything, pinned

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

demo: machine .venv/stamp ## real producers -> tsproxy -> Apache Kafka -> decision log -> Spark report, proving itself
	@$(SPENT) $(BIN)/python -m deploy.demo

test: machine .venv/stamp lint ## lint, types, layers and a test of each behaviour (sampled where the space is large)
	$(SPENT) $(BIN)/python -m pytest $(SHARED)

test-quick: PROCESSES = 3
test-quick: .venv/stamp ## the tests that need no broker, no Spark and no Java: a minute, for daily work
	TSPROXY_TEST=quick $(BIN)/python -m pytest $(SHARED) $(QUICK)

test-full: machine .venv/stamp lint ## everything, unsampled, with the tests that vary another one
	TSPROXY_TEST=full $(SPENT) $(BIN)/python -m pytest $(SHARED)

test-clients: machine .venv/stamp ## the clients that need Go and Node, before a real cluster (the others are in test)
	TSPROXY_CLIENTS=foreign $(BIN)/python -m pytest tests/clients

test-deploy: machine .venv/stamp ## chart, alerts and dashboard with Prometheus's and Kubernetes' own tools, which Go builds first
	TSPROXY_DEPLOY=tools $(BIN)/python -m pytest tests/deploy --timeout=1800  # the first tests build the tools

lint: .venv/stamp ## ruff, mypy --strict, import layers, lines of each package
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m deploy.lines

format: .venv/stamp ## let ruff write the code's form
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

N ?= 100000
SEED ?= 2026
differential: machine .venv/stamp ## N generated batches to both broker versions, straight and through the proxy
	$(BIN)/python -m rigs.differential $(N) --seed $(SEED)

VERSION ?= RELEASE
kafka: machine .venv/stamp ## what is new in a release of Kafka (VERSION, SINCE), and which places here must change
	$(BIN)/python -m tests.wire.schemas $(VERSION) $(SINCE)

SAMPLE ?= 100
mutation: .venv/stamp ## change wire, policy and session one thing at a time, SAMPLE each by SEED, and look for a test that turns red
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mutmut==3.8.1
	$(BIN)/python -m rigs.mutation --sample $(SAMPLE) --seed $(SEED)

CORE := tests/wire tests/policy tests/session tests/model tests/fastpath tests/verdicts
coverage: .venv/stamp ## branches of the core that its tests reach, without a broker
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage==7.17.3
	TSPROXY_TEST=quick $(BIN)/python -m coverage run --branch --source=tsproxy.wire,tsproxy.policy,tsproxy.session \
		-m pytest -q $(QUICK) $(CORE)
	$(BIN)/python -m coverage report --skip-covered --sort=cover

SUITES ?= bookworm trixie forky
fresh: .venv/stamp ## README's lines in new roots of Debian (SUITES) with nothing else, and without each of its packages (root, debootstrap)
	$(BIN)/python -m rigs.fresh $(SUITES)

MINUTES ?= 1
fuzz: .venv/stamp ## coverage-guided fuzzing in Python, and of the native code where clang and gcc are; MINUTES for each target
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0
	$(BIN)/python -m rigs.fuzz --minutes $(MINUTES)
	if command -v gcc >/dev/null; then $(BIN)/python -m tests.fastpath.memory_safety --seeds 60; fi

CONNECTIONS ?= 10000
ADVERSARIES ?= 0
simulate: .venv/stamp ## CONNECTIONS on a simulated loop, clock and network: faults and changes by SEED, ADVERSARIES in each world
	$(BIN)/python -m rigs.simulated --connections $(CONNECTIONS) --seed $(SEED) --adversaries $(ADVERSARIES)

ROUNDS ?= 10
ATTACKERS ?= 0
chaos: machine .venv/stamp ## ROUNDS of faults by SEED on real brokers, proxy and producers, with ATTACKERS; root for disks, libfaketime for clocks
	$(BIN)/python -m rigs.chaos --rounds $(ROUNDS) --seed $(SEED) --attackers $(ATTACKERS)

NAMES ?=
incidents: machine .venv/stamp ## incidents with real brokers: the seconds until an operator is told the cause; NAMES of some
	$(BIN)/python -m rigs.incidents $(NAMES)

availability: machine .venv/stamp ## several proxies, stopped, killed, lost, upgraded: what clients of each family see (an hour)
	$(BIN)/python -m rigs.availability

STEPS ?=
night: machine .venv/stamp ## an operator's night by script: roll, kill, rotate, widen, wrong clocks, another cluster (six minutes); STEPS of some
	$(BIN)/python -m rigs.night $(STEPS)

truth: machine .venv/stamp ## clients, topics, log and report agree on every record, however a broker ends it
	TSPROXY_TEST=full $(BIN)/python -m pytest rigs/truth

schedules: machine .venv/stamp ## each shipped schedule runs three nights with its real program: systemd, cron (root), Airflow of five versions, Spark, Helm
	TSPROXY_TEST=full TSPROXY_DEPLOY=tools $(BIN)/python -m pytest tests/spark_reports/test_schedules.py

soak: MINUTES = 60
soak: machine .venv/stamp ## MINUTES of mixed traffic by SEED, reloads and restarts: memory, descriptors and tasks must not grow
	$(BIN)/python -m rigs.soak --minutes $(MINUTES) --seed $(SEED)

bench: .venv/stamp ## the benchmarks, as ratios within one run
	$(BIN)/python -m benchmarks

bench-reports: machine .venv/stamp ## what the Spark reports cost (14 GB of scratch space)
	$(BIN)/python -m benchmarks.reports

generated: .venv/stamp ## write the parts of pages, and the schemas, that are made from tables in the code
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

docs: .venv/site/stamp ## the documents as a web site in build/site; broken links and anchors are errors
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

clean: ## forget .venv and what was built (the cache of jars stays)
	rm -rf .venv build dist mutants *.egg-info demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis
