# Everything is set up on first use, in .venv. Each target can be interrupted and repeated.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
CORE := $(VENV)/.core-installed
DEV := $(VENV)/.dev-installed
SERVE := $(VENV)/.serve-installed
INSTALL = $(RUN) -m pip install --disable-pip-version-check --editable
TORCH_INDEX := https://download.pytorch.org/whl/cpu
# Bytecode is kept even where the environment says otherwise: else each start rewrites the assertions of all tests anew.
PYTEST = HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest --numprocesses auto --maxprocesses 8 \
	--dist loadfile --no-loadscope-reorder

.PHONY: help serve lint lint-format lint-style lint-types lint-layers test test-all quick test-quick test-doors \
	test-services test-pythons release lock tensorboard benchmark-setup report pictures docs clean
.DEFAULT_GOAL := help
MAKEFLAGS += --keep-going  # of several checks, all are made, and make fails in the end

help:  ## list the targets
	@echo 'make train-SOURCE-TARGET [CORPUS=…] [ARGS=…]'
	@echo '                  make a translator, e.g. make train-de-en: set up, prepare, train, measure; again: go on'
	@echo '                  CORPUS: multi30k, phrasebook, or a folder that holds train, val and test* files'
	@echo '                  ARGS: settings, e.g. ARGS="--training.max_steps 500"'
	@echo 'make student-SOURCE-TARGET TEACHER=runs/NAME [ARGS=…]'
	@echo '                  distil the translator of a finished run into a smaller, faster one, and measure both; again: go on'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "make %-16s %s\n", $$1, $$2}'

# An environment that make did not make stays as it is; .by-make tells which one it made. The stamp .made says that pip is
# there too: venv makes bin/python before it.
$(VENV)/.made:
	@if [ -d $(VENV) ] && [ ! -e $(VENV)/.by-make ]; then \
		echo '$(VENV) is there, and make did not make it. Move it away, or let make use another folder:' \
		'make VENV=FOLDER …' >&2; exit 1; fi
	@mkdir -p $(VENV) && touch $(VENV)/.by-make && $(PYTHON) -m venv $(VENV)
	@touch $@

# PyTorch's build for CPUs where there is no GPU, unless PyTorch is there: the usual build for Linux brings 4 GB of CUDA.
# If its index can't be reached, the usual index is asked, as for all else.
$(VENV)/.torch: pyproject.toml | $(VENV)/.made
	@echo 'Installing into $(VENV), once: some minutes, 1.5 GB without a GPU'
	@[ "$$(uname)" != Linux ] || nvidia-smi -L >/dev/null 2>&1 || \
		$(RUN) -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' || \
		$(RUN) -m pip install --disable-pip-version-check --retries 0 --timeout 15 --index-url $(TORCH_INDEX) \
		"$$(sed -n 's/^ *"\(torch[<>=].*\)",/\1/p' pyproject.toml)" 2>/dev/null || true
	@touch $@

$(CORE): pyproject.toml | $(VENV)/.torch
	@$(INSTALL) '.[hub,tensorboard]'
	@touch $@

$(SERVE): pyproject.toml | $(CORE)
	@$(INSTALL) '.[serve]'
	@touch $@

$(DEV): pyproject.toml | $(VENV)/.torch
	@$(INSTALL) '.[dev]'
	@touch $@ $(CORE) $(SERVE)

# A language code, with a script or region that begins with a capital letter or a digit: de, pt-BR, zh_Hans, es-419.
CODE := [a-z]+([-_][A-Z0-9][A-Za-z0-9]*)*

PAIR = $(shell echo '$*' | sed -nE 's/^($(CODE))-($(CODE))$$/\1 \3/p')
train-%: $(CORE)
	$(if $(PAIR),,$(error train-$*: write make train-SOURCE-TARGET, e.g. make train-de-en or make train-pt-BR-en. For other \
		names of languages: $(RUN) -m nmt.train --resume --data.source SOURCE --data.target TARGET))
	@$(RUN) -m nmt.train --resume --data.source '$(word 1,$(PAIR))' --data.target '$(word 2,$(PAIR))' \
		$(if $(CORPUS),--data.corpus '$(CORPUS)') $(ARGS)

# A finished student is only measured again. The corpus is that of the teacher's run, unless CORPUS names another.
override TEACHER := $(TEACHER:%/=%)
TAUGHT = $(or $(CORPUS),$(shell sed -n 's/^  corpus: //p' '$(TEACHER)/config.yaml'))
STUDENT = $(notdir $(TEACHER))-student
LANGUAGES = --data.source '$(word 1,$(PAIR))' --data.target '$(word 2,$(PAIR))'
student-%: $(CORE)
	$(if $(PAIR),,$(error student-$*: write make student-SOURCE-TARGET TEACHER=runs/NAME, e.g. make student-de-en))
	$(if $(wildcard $(TEACHER)/model/config.json),,$(error TEACHER is '$(TEACHER)': it must be the folder of a finished run))
	@[ -d '$(TEACHER)-distilled' ] || $(RUN) -m nmt.augment $(LANGUAGES) --data.corpus '$(TAUGHT)' \
		--forward '$(TEACHER)' --distil --output '$(TEACHER)-distilled'
	@$(RUN) -m nmt.train --resume $(LANGUAGES) --data.corpus '$(TEACHER)-distilled' --config recipes/student.yaml \
		--name '$(STUDENT)' --tokenizer.folder '$(TEACHER)' --training.start_from '$(TEACHER)' \
		--training.teacher '$(TEACHER)' $(ARGS)
	@for model in '$(TEACHER)' 'runs/$(STUDENT)'; do echo "$$model:"; $(RUN) -m nmt.evaluate --model "$$model" || exit 1; done

serve: $(SERVE)  ## translate for programs and people at http://127.0.0.1:5000 [MODEL="runs/de-en …"]
	@$(RUN) -m nmt.serve $(MODEL) $(ARGS)

lint: lint-format lint-style lint-types lint-layers  ## check format, style, types and layers
lint-format: $(DEV)
	$(VENV)/bin/ruff format --check --quiet .
lint-style: $(DEV)
	$(VENV)/bin/ruff check --quiet .
lint-types: $(DEV)
	$(VENV)/bin/mypy
lint-layers: $(DEV)
	$(VENV)/bin/lint-imports --no-logo

test: lint test-all  ## lint, and all tests; the tests run even where lint fails
test-all: $(DEV)
	$(PYTEST) -m 'not services'

quick: lint-format lint-style test-quick  ## format, style, and the fast tests, one case of each: about a minute
test-quick: $(DEV)
	$(PYTEST) --quick

test-services: $(DEV)  ## tests of the service with browsers, npm and load; each says what it misses
	HF_HUB_OFFLINE=1 $(RUN) -m pytest -m services -rs $(ARGS)

test-pythons:  ## all tests with each Python from 3.11 to 3.14 that is here, in environments in build/
	@failed=; for version in 3.11 3.12 3.13 3.14; do \
		python$$version -c '' 2>/dev/null || { echo "Python $$version is not on this machine"; continue; }; \
		$(MAKE) test-all VENV=build/python-$$version PYTHON=python$$version || failed="$$failed $$version"; \
	done; [ -z "$$failed" ] || { echo "Tests failed with Python$$failed"; exit 1; }

test-doors: $(DEV)  ## compare models with what other libraries make of them [MODEL=runs/de-en-multi30k]
	HF_HUB_OFFLINE=1 $(RUN) -m benchmarks.doors --model '$(or $(MODEL),runs/de-en-multi30k)' $(ARGS)

release: lint  ## build the last commit for the package index, check and describe it: dist/
	$(RUN) .ci/release.py
	HF_HUB_OFFLINE=1 $(RUN) -m pytest tests/test_install.py tests/docs --whole

lock: $(DEV)  ## write the versions of the packages of the container: docs/serving/requirements.txt
	$(RUN) .ci/release.py lock

tensorboard: $(CORE)  ## watch all runs in a browser
	$(RUN) -m tensorboard.main --logdir runs

benchmark-setup: $(CORE)  ## make the reference model and the peers of the benchmarks [CORPUS=…] [PEERS=transformers,eole]
	$(RUN) -m benchmarks.setup $(if $(CORPUS),--corpus '$(CORPUS)') $(if $(PEERS),--peers '$(PEERS)') $(ARGS)

report: $(CORE)  ## write the tables of benchmarks/README.md and docs/ from benchmarks/results
	$(RUN) -m benchmarks.report

pictures: $(CORE)  ## draw docs/pictures: from benchmarks/results, and the families of models
	$(RUN) -m benchmarks.pictures
	$(RUN) -m benchmarks.architectures

docs: $(DEV)  ## make a site of all pages, with search and API reference: build/docs/index.html
	$(RUN) -m sphinx --quiet --fail-on-warning --conf-dir docs . build/docs

clean:  ## remove caches and the virtual environment that make made; runs stay
	@if [ -e $(VENV)/.by-make ]; then rm -rf $(VENV); elif [ -d $(VENV) ]; then echo '$(VENV) stays: make did not make it'; fi
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './runs/*' -not -path './$(VENV)/*' -prune -exec rm -rf {} +
