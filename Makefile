# Curt: `make help` lists what can be made.

GO ?= go
TOOL = $(GO) tool -modfile=tools.mod
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v "$$($(GO) env CC)" >/dev/null 2>&1 && echo -race)
FUZZTIME ?= 30s
FUZZ ?=
BENCH ?= .
BENCHFLAGS ?=
TESTFLAGS ?=
FAULTFLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help run build test clients bench fuzz faults lint generate ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build Curt and start it on ./data (ARGS="--sync no" adds options)
	./curt serve $(ARGS)

build: ## build ./curt
	$(GO) build -o curt .

test: ## run every test; one whose outside program is missing is skipped by name
	$(TOOL) gotestsum --format pkgname $(TESTFLAGS) -- $(RACE) -timeout 20m ./...

clients: ## drive Curt with every Redis client of tests/clients, also those that the tests skip; a missing one is named
	CLIENTS=all $(GO) test -v -count 1 -timeout 10m -run '^(TestClients|TestRedisCLI.*|TestRedisBenchmark|TestDoors|TestRedisExporter)$$' ./tests

bench: ## run Go's benchmarks (BENCH=Resolve picks some), then measure beside redis-server, nginx and MariaDB (BENCHFLAGS=-h tells what can be set)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 0 ./...
	$(GO) run ./tests/bench $(BENCHFLAGS)

# Go would spend up to a minute on making each new input smaller, and try no other meanwhile: a second is enough.
# Go 1.26 takes it for a failure when its time ends in the middle of a call (golang/go#75804): such a run, which names no failing input, is run again.
fuzz: ## run each fuzz target for FUZZTIME (30s; a change to what reads from strangers deserves FUZZTIME=1h), or those whose names hold FUZZ
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | grep 'func .*$(FUZZ)' | sort | while IFS=: read -r file target; do \
		echo "$$file: $${target#func }"; \
		for try in 1 2 3 4; do \
			$(GO) test -timeout 0 -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$(dirname "$$file")" 2>&1 | tee "$$log"; \
			grep -q '^ok' "$$log" && continue 2; \
			grep -q 'context deadline exceeded' "$$log" && ! grep -q 'Failing input' "$$log" || exit 1; \
		done; \
		exit 1; \
	done

faults: ## put a server through every fault and write docs/FAULTS.md anew (FAULTFLAGS=-long for as much as a night allows)
	$(GO) test -timeout 0 -count=1 -run '^Test(Fault[A-Z]|AFullDisk|ReadErrors|ReadersDoNotWait|PowerCuts|Kill$$)' ./tests -args $(FAULTFLAGS) -faults ../docs/FAULTS.md

lint: ## check with gofmt, vet and staticcheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not as gofmt writes it: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

generate: ## write COMMANDS.md and the table of options in README.md anew
	$(GO) generate .

ci: ## do what is done before a change is accepted: lint, a little fuzzing, all tests and no skip for a missing program
	bash .ci/run
