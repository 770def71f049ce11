# Everything is set up on first use, in .venv. Each target can be interrupted and repeated.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
CORE := $(VENV)/.core-installed
DEV := $(VENV)/.dev-installed
SERVE := $(VENV)/.serve-installed
# Bytecode is kept even where the environment says otherwise: else each start rewrites the assertions of all tests anew.
PYTEST = HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest --numprocesses auto --maxprocesses 8 \
	--dist loadfile --no-loadscope-reorder

.PHONY: help serve lint lint-format lint-style lint-types lint-layers test test-all quick test-quick test-doors \
	test-services tensorboard benchmark-setup report pictures clean
.DEFAULT_GOAL := help
MAKEFLAGS += --keep-going  # of several checks, all are made, and make fails in the end

help:  ## list the targets
	@echo 'make train-SOURCE-TARGET [CORPUS=…] [ARGS=…]'
	@echo '                  make a translator, e.g. make train-de-en: set up, prepare, train, measure; again: go on'
	@echo '                  CORPUS: multi30k, phrasebook, or a folder that holds train, val and test* files'
	@echo '                  ARGS: settings, e.g. ARGS="--training.max_steps 500"'
	@echo 'make student-SOURCE-TARGET TEACHER=runs/NAME [ARGS=…]'
	@echo '                  distil the translator of a finished run into a smaller, faster one, and compare both; again: go on'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "make %-16s %s\n", $$1, $$2}'

# The stamp, not bin/python, says that the environment is whole: venv makes that file before it installs pip.
$(VENV)/.made:
	@# An environment that works is kept: its user may have chosen a build of PyTorch.
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(CORE): pyproject.toml | $(VENV)/.made
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(SERVE): pyproject.toml | $(VENV)/.made
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[serve]'
	@touch $@ $(CORE)

$(DEV): pyproject.toml | $(VENV)/.made
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
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
		--forward '$(TEACHER)' --distil closest --output '$(TEACHER)-distilled'
	@$(RUN) -m nmt.train --resume $(LANGUAGES) --data.corpus '$(TEACHER)-distilled' --config recipes/student.yaml \
		--name '$(STUDENT)' --tokenizer.folder '$(TEACHER)' --training.start_from '$(TEACHER)' \
		--training.teacher '$(TEACHER)' $(ARGS)
	@$(RUN) -m benchmarks.students --teacher '$(TEACHER)' --student 'runs/$(STUDENT)' --json 'runs/$(STUDENT)/students.jsonl'

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

test-doors: $(DEV)  ## compare models with what other libraries make of them [MODEL=runs/de-en-multi30k]
	HF_HUB_OFFLINE=1 $(RUN) -m benchmarks.doors --model '$(or $(MODEL),runs/de-en-multi30k)' $(ARGS)

tensorboard: $(CORE)  ## watch all runs in a browser
	$(RUN) -m tensorboard.main --logdir runs

benchmark-setup: $(CORE)  ## make the reference model and the peers of the benchmarks [CORPUS=…] [PEERS=transformers,eole]
	$(RUN) -m benchmarks.setup $(if $(CORPUS),--corpus '$(CORPUS)') $(if $(PEERS),--peers '$(PEERS)') $(ARGS)

report: $(CORE)  ## write the tables of benchmarks/README.md and docs/ from benchmarks/results
	$(RUN) -m benchmarks.report

pictures: $(CORE)  ## draw docs/pictures: from benchmarks/results, and the families of models
	$(RUN) -m benchmarks.pictures
	$(RUN) -m benchmarks.architectures

clean:  ## remove caches and the virtual environment; runs stay
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './runs/*' -prune -exec rm -rf {} +
