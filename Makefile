# The ways to build, try, check and pack Sandbox Agent. `make` alone lists them.

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build demo test test-full lint lint-temporal generate bench package clean agent worker helper

# One set of flags for building, testing and linting: the build cache then serves them all, and what is in bin/ is static.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false
LDFLAGS := -s -w

GOLANGCI_VERSION := v2.15.0
GOLANGCI := .cache/bin/golangci-lint-$(GOLANGCI_VERSION)

help: ## list what can be made
	@echo "Sandbox Agent: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: agent worker helper bin/sandbox-temporal ## build the programs into bin/

agent worker helper:
	@echo "Building bin/sandbox-$@"
	@go build -ldflags '$(LDFLAGS)' -o bin/sandbox-$@ ./cmd/sandbox-$@

# The embedded Temporal server is a module of its own, big, and seldom changes.
bin/sandbox-temporal: $(shell find cmd/sandbox-temporal -type f -not -name '*_test.go')
	@echo "Building bin/sandbox-temporal, an embedded Temporal server. The first time this takes 4 to 8 minutes on 2 cores;"
	@echo "after that it is skipped until its sources change."
	@cd cmd/sandbox-temporal && go build -ldflags '$(LDFLAGS)' -o ../../$@ .
	@touch $@

demo: build ## watch the agent work in a small sample folder; needs no key
	@scripts/demo

test: build ## build, then run the tests (a few minutes)
	@scripts/test

test-full: test ## also the slow suites, the race detector and the fuzz tests
	@scripts/test-slow

lint: $(GOLANGCI) ## check formatting and look for defects
	@scripts/lint/run $(CURDIR)/$(GOLANGCI)

lint-temporal: $(GOLANGCI) bin/sandbox-temporal ## the same for cmd/sandbox-temporal, which must be built first
	@cd cmd/sandbox-temporal && $(CURDIR)/$(GOLANGCI) run --config ../../.golangci.yml ./...

$(GOLANGCI):
	@echo "Building golangci-lint $(GOLANGCI_VERSION) into .cache/bin; the first time this takes about 2 minutes."
	@GOBIN=$(CURDIR)/.cache/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .cache/bin/golangci-lint $@

generate: ## write what is generated from the table in editors/
	go generate ./editors

bench: build ## run the benchmarks, the last of them in a real VS Code
	go test -run '^$$' -bench . -benchmem ./...
	@npm --prefix vscode-extension run --silent bench

package: ## pack archives and the VS Code extension into dist/ for Linux and macOS (or for PLATFORMS="linux/amd64 …")
	@scripts/package

clean: ## remove what was built
	rm -rf bin dist .cache
