# Curt: `make help` lists what can be made.

GO ?= go

.PHONY: help run build

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and start Curt on ./data (ARGS="--sync no" adds options)
	./curt serve $(ARGS)

build: ## build ./curt
	$(GO) build -o curt .
