# make test    everything: lint, Go tests, and the end-to-end parts beside them
# make agents  the agents' real programs: they rewrite targets/*/e2e/testdata/record.json,
#              which the Go tests replay; AGENTS="claude cursor roo" chooses
# make quick   some seconds of each agent, and no record
# make bench   the benchmarks; RUNS=30 for the whole process
# make fuzz    every fuzz target for a time, TIME=30s each
# make golden  rewrite the golden trees after a deliberate change
# make release binaries for every platform, an SBOM and checksums
# make reproducible  release twice from two folders and compare

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

BIN := $(CURDIR)/bin
# MODEC_E2E_SKIP names targets whose agent cannot be installed here: "claude
# cursor". What is not run is said at the end.
SKIPPED := $(foreach t,$(MODEC_E2E_SKIP),targets/$t/%)
E2E := $(filter-out $(SKIPPED),$(sort $(dir $(wildcard targets/*/e2e/package.json targets/*/*/e2e/package.json targets/*/e2e/*/package.json))))
TESTS := $(filter-out $(SKIPPED),$(sort $(wildcard targets/*/e2e/*.test.mjs targets/*/*/e2e/*.test.mjs)))
# Real files of public repositories, tried where they are.
export MODEC_CORPUS ?= $(wildcard $(CURDIR)/../shared/corpus)
TIME ?= 30s
RUNS ?= 30

# part NAME,COMMAND runs a part and notes how long it took.
part = start=$$(date +%s); $(2); mkdir -p $(BIN)/times; echo "$(1) $$(( $$(date +%s) - start )) s" > $(BIN)/times/$(1)

.PHONY: test go e2e lint unit race npm acme agents quick bench fuzz golden release reproducible clean

# The npm parts run beside the Go parts; a part's output is printed when it is done.
test:
	@rm -rf $(BIN)/times
	@$(MAKE) -j2 -Otarget go e2e
	@for t in $(MODEC_E2E_SKIP); do echo "not run: the end-to-end tests of $$t (MODEC_E2E_SKIP)"; done
	@echo "parts:"; sed 's/^/  /' $(BIN)/times/*

go: lint unit race

# The bounds on code. A function that decides more than COMPLEXITY things, or a line longer
# than COLUMNS (a tab counts 4), is hard to read: split it. BOUND lists the folders that keep
# the bounds, and have no unused parameters.
COMPLEXITY := 25
COLUMNS := 120
BOUND := $(addprefix compiler/,config contract diff gittree lint located migrate record render resolve shape \
	source suggest verify why) cue

lint:
	@$(call part,lint,\
		files=$$(gofmt -s -l cmd compiler cue targets golden); [ -z "$$files" ] || { echo "gofmt -s would change: $$files"; exit 1; }; \
		go mod tidy -diff; \
		go vet ./...; \
		go tool staticcheck ./...; \
		go tool unparam $(BOUND:%=./%/...); \
		go tool gocyclo -over $(COMPLEXITY) -ignore '_test\.go' $(BOUND); \
		long=$$(for f in $$(find $(BOUND) -name '*.go' ! -name '*_test.go'); do \
			expand -t 4 $$f | LC_ALL=C.UTF-8 grep -nE '^.{$(COLUMNS)}.' | cut -d: -f1 | sed "s|^|$$f:|" || true; \
		done); [ -z "$$long" ] || { echo "longer than $(COLUMNS) columns:"; echo "$$long"; exit 1; })

unit: lint
	@$(call part,unit,go test ./...)

race: unit
	@$(call part,race,go test -race -skip 'Install|Killed' ./compiler/... ./targets/mcp/serve; go test -race -run Promise ./compiler/verify)

npm:
	@$(call part,npm,\
		for dir in $(E2E); do \
			if [ ! -e $$dir/node_modules/.package-lock.json ] || [ $$dir/package-lock.json -nt $$dir/node_modules/.package-lock.json ]; then \
				(cd $$dir && npm ci --no-audit --no-fund --loglevel=error); \
			fi; \
		done)

acme:
	@go build -trimpath -o $(BIN)/modec ./cmd/modec
	@rm -rf $(BIN)/acme
	@$(BIN)/modec -q build -C fixtures/acme --out $(BIN)/acme > /dev/null

e2e: npm acme
	@$(call part,e2e,\
		MODEC_BIN=$(BIN)/modec MODEC_OUT=$(BIN)/acme MODEC_FIXTURE=$(CURDIR)/fixtures/acme MODEC_FIXTURES=$(CURDIR)/fixtures node --test --test-concurrency=2 --test-reporter=spec $(TESTS))

# The agents whose real programs can be asked. MODEC_RECORD has them write what they did.
AGENTS ?= claude cursor roo
ASK = MODEC_BIN=$(BIN)/modec MODEC_OUT=$(BIN)/acme MODEC_FIXTURE=$(CURDIR)/fixtures/acme MODEC_FIXTURES=$(CURDIR)/fixtures \
	node --test --test-concurrency=2 --test-reporter=spec

agents: acme
	@$(MAKE) npm E2E="$(AGENTS:%=targets/%/e2e/)"
	@$(call part,agents,MODEC_RECORD=1 $(ASK) $(wildcard $(AGENTS:%=targets/%/e2e/*.test.mjs)))

# One session of an agent that takes seconds to start, and the whole of one that takes none.
QUICK = $(filter-out $(SKIPPED),$(AGENTS:%=targets/%/e2e/decide.test.mjs) $(wildcard targets/roo/e2e/*.test.mjs))

quick: acme
	@$(MAKE) npm E2E="$(sort $(dir $(QUICK)))"
	@$(call part,quick,MODEC_QUICK=1 MODEC_CORPUS= $(ASK) $(sort $(QUICK)))

bench:
	go test -run '^$$' -bench . -benchmem ./compiler/...
	go test -run '^$$' -bench . -benchtime $(RUNS)x ./cmd/modec

fuzz:
	@for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(TIME) $$pkg; \
		done; \
	done

golden:
	go test ./golden -update

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo devel)

# A release says nothing of the time, the machine or the folder: the same source gives
# the same bytes. The SBOM contains digests of the program that wrote it, so that program
# is built the same way; it has a go.mod of its own, because its modules are not modec's.
RELEASE := CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
SBOM := go -C .ci/sbom tool cyclonedx-gomod bin -json -noserial -notimestamp -short-purls -std -version $(VERSION)

release:
	@rm -rf $(BIN)/release && mkdir -p $(BIN)/release
	@for p in $(PLATFORMS); do \
		out=$(BIN)/release/modec-$(VERSION)-$${p%/*}-$${p#*/}; [ $${p%/*} != windows ] || out=$$out.exe; \
		$(RELEASE) GOOS=$${p%/*} GOARCH=$${p#*/} go build -ldflags "-s -w -X main.release=$(VERSION)" -o $$out ./cmd/modec; \
	done
	@$(RELEASE) $(SBOM) -output $(BIN)/release/modec-$(VERSION).cdx.json $(BIN)/release/modec-$(VERSION)-linux-amd64
	@cd $(BIN)/release && sha256sum modec-$(VERSION)-* modec-$(VERSION).cdx.json > SHA256SUMS && cat SHA256SUMS

reproducible:
	@rm -rf $(BIN)/again && mkdir -p $(BIN)/again/a $(BIN)/again/b/deeper
	@for dir in a b/deeper; do \
		git archive HEAD | tar -x -C $(BIN)/again/$$dir; \
		$(MAKE) -C $(BIN)/again/$$dir release VERSION=$(VERSION) PLATFORMS=linux/amd64 > /dev/null; \
	done
	@diff -r $(BIN)/again/a/bin/release $(BIN)/again/b/deeper/bin/release
	@cat $(BIN)/again/a/bin/release/SHA256SUMS; rm -rf $(BIN)/again

clean:
	rm -rf $(BIN) out
