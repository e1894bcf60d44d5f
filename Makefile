# Everything a clone needs. `make` alone lists the targets.
#
# The environment lives in .venv: uv installs exactly what requirements.lock names, checked by hash, and then
# this project itself, in place. A target runs no installation when nothing has changed since the last one.

PYTHON ?= python3
UV_VERSION := 0.13.7
ZENSICAL_VERSION := 0.0.73

# What the tests want from Debian, beyond Python, make and Go: chromium renders the HTML report, prometheus
# scrapes the server, the others are what we are compared with.
TEST_PACKAGES := chromium ganeti-htools iproute2 lvm2 prometheus prometheus-node-exporter

# Hundreds of tests start processes, and none should compile what another has compiled already.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
UV := $(BIN)/uv
INSTALLED := .venv/.installed
PYTEST := $(BIN)/python -m pytest --dist=loadgroup --durations=20 --numprocesses
WAITING := $(shell expr $$(nproc) + 1)
FAILED := .venv/.failed
FAST := not slow and not browser and not faults and not image
ALL := not faults and not image

# Many tests wait for real processes: one more of them runs at a time than there are processors. What fails there
# is shown, and run once more alone: a defect fails again, what had to wait too long on a busy machine does not.
define run_tests
@$(PYTEST) $(1) --failed-to=$(FAILED) || case $$? in 5) ;; \
	1) echo "again, alone:"; cat $(FAILED); $(BIN)/python -m pytest @$(FAILED) ;; *) exit 1 ;; esac
endef

# In `make check test` the fast tests run among all others: they keep the processors busy while those wait.
ifeq ($(filter test,$(MAKECMDGOALS)),)
FAST_TESTS = $(call run_tests,auto -m "$(FAST)")
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo check test faults image bench crash fuzz fuzz-short mutants docs lock clean test-packages reference plane helm deploy parity

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## a guided tour on a built-in cluster: a minute, no server
	$(BIN)/ullage demo

check: $(INSTALLED) reference ## lint, types, import contracts and the fast tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(FAST_TESTS)

test: $(INSTALLED) test-packages reference plane helm ## every test, and half a minute of fuzzing
	$(call run_tests,$(WAITING) -m "$(ALL)")
	@$(MAKE) --no-print-directory fuzz-short

faults: $(INSTALLED) plane ## the processes on Kubernetes while everything around them fails, and with each right taken away
	$(PYTEST) auto -m faults

image: $(INSTALLED) plane ## build the image, and run its processes as their Deployments do
	@scripts/install-packages buildah debootstrap
	$(BIN)/python -m pytest -m image

bench: $(INSTALLED) plane ## the benchmarks, with their peers
	$(BIN)/python benchmarks/peers/build.py
	@scripts/install-packages wrk chromium
	$(BIN)/python benchmarks/run.py; missed=$$?; $(BIN)/python benchmarks/speed_page.py && exit $$missed

parity: $(INSTALLED) plane ## thousands of random clusters, judged by us and by the real kube-scheduler
	$(BIN)/python tests/parity/run.py --cases 5000
	$(BIN)/python tests/parity/run.py --live --cases 2000
	$(BIN)/python tests/parity/run.py --scheduler --cases 1000

crash: $(INSTALLED) ## kill processes that use a ledger, 10 000 times: is anything lost that they were told?
	$(BIN)/python tests/simulation/crash.py --kills 10000

fuzz: $(INSTALLED) ## a million hostile inputs to every parser
	$(BIN)/python tests/fuzz/run.py --inputs 1000000

fuzz-short: $(INSTALLED) ## half a minute of them
	$(BIN)/python tests/fuzz/run.py --seconds 30

mutants: $(INSTALLED) ## break the model and the engine on purpose, 500 times: do the tests notice?
	$(BIN)/python tests/mutation.py

docs: $(INSTALLED) ## the documentation as a site, in site/
	$(UV) pip install --quiet --python $(BIN)/python zensical==$(ZENSICAL_VERSION)
	$(BIN)/zensical build

lock: $(UV) ## choose the versions of all dependencies anew (LOCK_FLAGS=--upgrade for the newest)
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --group dev --all-extras \
		--custom-compile-command "make lock" $(LOCK_FLAGS) --output-file requirements.lock pyproject.toml

clean: ## remove what make made here, the environment too
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist mutants site
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

test-packages:
	@scripts/install-packages $(TEST_PACKAGES)

reference: $(INSTALLED)
	@$(BIN)/python tests/reference/build.py

plane: $(INSTALLED) ## the Kubernetes control plane that tests use: built once, in some minutes
	@PYTHONPATH=tests $(BIN)/python -m plane.build

helm: $(INSTALLED) ## Helm, which tests render the chart with: built once, in some minutes
	@PYTHONPATH=tests $(BIN)/python -m helm.build

deploy: $(INSTALLED) ## write what of the chart and the kustomize base is made from `ullage kube install`
	$(BIN)/python tests/deployed.py

$(INSTALLED): $(UV) requirements.lock pyproject.toml
	$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps --editable .
	@touch $@

$(UV): Makefile scripts/make-venv
	@scripts/make-venv $(PYTHON)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@
