# make test         what a newcomer waits for: lint, Go tests, one quick run of each agent
# make check        what takes longer: all mutants, races, conformance, real servers, fuzzing
# make agents       ask the agents' own programs, and record what they did for the Go tests to
#                   replay; AGENTS="claude codex copilot cursor gemini kilo opencode roo" chooses
# make screens      the pictures of the README
# make quick        some seconds of each agent, and no record
# make bench        the benchmarks; RUNS=30 for the whole process
# make drawn        COUNT=1000 sources that nobody saw, from the number FROM
# make fuzz         every fuzz target, COUNT=10000 executions each, and ten times that of the quick
# make golden       rewrite the golden trees after a deliberate change
# make release      for every platform a binary, an archive, a Debian and an npm package; an SBOM and checksums
# make packages     a release for this machine, unpacked, installed and started
# make reproducible release twice from two folders and compare

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

BIN := $(CURDIR)/bin
# MODEC_E2E_SKIP names targets whose agent cannot be installed here: "claude
# cursor". What is not run is said at the end.
SKIPPED := $(foreach t,$(MODEC_E2E_SKIP),targets/$t/%)
# The end-to-end tests of an agent's own program, and those of modec's own servers and of its page.
AGENTS ?= claude codex copilot cursor gemini kilo opencode roo vscode
OFAGENTS := $(filter-out $(SKIPPED),$(foreach t,$(AGENTS),$(sort $(wildcard targets/$t/e2e/*.test.mjs))))
OFSERVERS := $(filter-out $(SKIPPED) $(foreach t,$(AGENTS),targets/$t/%),$(sort $(wildcard cmd/modec/internal/*/e2e/*.test.mjs targets/*/e2e/*.test.mjs targets/*/*/e2e/*.test.mjs)))
# Agents' own programs in front of modec's gateway.
BEHIND := $(filter-out $(SKIPPED),$(wildcard $(AGENTS:%=targets/%/e2e/gateway.test.mjs)))
# One session of an agent that takes seconds to start, and the whole of one that takes none. The packages of
# Gemini CLI are too many for a quick run, and those of Codex, of Copilot and of VS Code are too large.
QUICK := $(sort $(filter-out $(SKIPPED) targets/codex/% targets/copilot/% targets/gemini/% targets/kilo/% targets/opencode/% targets/vscode/%,$(AGENTS:%=targets/%/e2e/decide.test.mjs) $(wildcard targets/roo/e2e/*.test.mjs)))
# Real files of public repositories, tried where they are.
export MODEC_CORPUS ?= $(wildcard $(CURDIR)/../shared/corpus)
COUNT ?= 10000
RUNS ?= 30

# part NAME,COMMAND runs a part and notes how long it took.
part = start=$$(date +%s); $(2); mkdir -p $(BIN)/times; echo "$(1) $$(( $$(date +%s) - start )) s" > $(BIN)/times/$(1)

.PHONY: test check shells postgres agents lint unit whole race e2e quick screens acme bench fuzz drawn golden release packages reproducible clean

# npm's part runs beside Go's; a part's output is printed when it is done.
test:
	@rm -rf $(BIN)/times
	@$(MAKE) -j2 -Otarget lint quick
	@$(MAKE) unit
	@$(MAKE) times

check: shells postgres
	@rm -rf $(BIN)/times
	@$(MAKE) -j2 -Otarget race e2e
	@$(MAKE) whole
	@$(MAKE) packages
	@$(MAKE) fuzz COUNT=500
	@$(MAKE) times

# The shells in which TestShells runs lines. What is missing is installed where that is possible.
SHELLS := bash dash zsh mksh busybox
shells:
	@missing=$$(for s in $(SHELLS); do command -v $$s >/dev/null || echo $$s; done); \
	[ -z "$$missing" ] || apt-get install -qq -y $$missing >/dev/null 2>&1 || true

# The database in which TestPostgres and TestManyServers keep sessions. They start one of their own.
POSTGRES := ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null
postgres:
	@$(POSTGRES) || { apt-get update -qq && apt-get install -qq -y postgresql; } >/dev/null 2>&1 || true

.PHONY: times
times:
	@for t in $(MODEC_E2E_SKIP); do echo "not run: the end-to-end tests of $$t (MODEC_E2E_SKIP)"; done
	@for s in $(SHELLS); do command -v $$s >/dev/null || echo "not run: TestShells in $$s (it is not installed)"; done
	@$(POSTGRES) || echo "not run: TestPostgres, TestManyServers (PostgreSQL is not installed)"
	@[ -n "$(MODEC_CORPUS)" ] || echo "not run: TestCorpus, TestCorpusAdopted (MODEC_CORPUS names no folder of real files)"
	@echo "parts:"; sed 's/^/  /' $(BIN)/times/*

# The bounds on code. A function that decides more than COMPLEXITY things, or a line longer
# than COLUMNS (a tab counts 4), is hard to read: split it. BOUND lists the folders with code.
COMPLEXITY := 25
COLUMNS := 120
BOUND := .ci cmd compiler cue golden targets

lint:
	@$(call part,lint,\
		files=$$(gofmt -s -l $(BOUND)); [ -z "$$files" ] || { echo "gofmt -s would change: $$files"; exit 1; }; \
		go mod tidy -diff; \
		go vet ./...; \
		go tool staticcheck ./...; \
		go tool unparam ./...; \
		go tool gocyclo -over $(COMPLEXITY) -ignore '_test\.go' $(BOUND); \
		long=$$(for f in $$(find $(BOUND) -name '*.go' ! -name '*_test.go'); do \
			expand -t 4 $$f | LC_ALL=C.UTF-8 grep -nE '^.{$(COLUMNS)}.' | cut -d: -f1 | sed "s|^|$$f:|" || true; \
		done); [ -z "$$long" ] || { echo "longer than $(COLUMNS) columns:"; echo "$$long"; exit 1; })

unit:
	@$(call part,unit,go test -short ./...)

# The Go tests of which a part is left out where they are to be short: every mutant, every round of what is random.
# `make test` runs the others as they are.
whole:
	@$(call part,whole,go test -timeout 30m $(call tested,testing\.Short\(\)|inShort))

# tested EXPRESSION lists the folders whose tests have something.
tested = $(sort $(dir $(shell grep -rlE '$(1)' --include='*_test.go' --exclude-dir=bin --exclude-dir=node_modules .)))

# What runs side by side, by the race detector: generated sources and keys are no news to it.
race:
	@$(call part,race,go test -short -race -timeout 20m -skip 'Install|Killed|Mutants|Pairs|OrdinarySources|Drawn|InCells|Keys' ./compiler $(addprefix ./targets/mcp/,gateway seal serve) \
		$(addprefix ./compiler/,contract gittree output record source verify); \
		go test -race -run Concurrent ./compiler/policy)

# installed TESTS installs by their lock files the packages that tests need.
installed = for dir in $(sort $(dir $(wildcard $(foreach t,$(1),$(dir $t)package.json $(dir $t)*/package.json)))); do \
		if [ ! -e $$dir/node_modules/.package-lock.json ] || [ $$dir/package-lock.json -nt $$dir/node_modules/.package-lock.json ]; then \
			(cd $$dir && npm ci --no-audit --no-fund --loglevel=error); \
		fi; \
	done

# What the showcase becomes, and beside it what sessions are started with, where the models find it, and the source by
# which the hooks decide.
acme:
	@go build -trimpath -o $(BIN)/modec ./cmd/modec
	@rm -rf $(BIN)/acme
	@$(BIN)/modec -q build -C fixtures/acme --out $(BIN)/acme > /dev/null
	@for s in golden/acme/*/session; do cp -r $$s $(BIN)/acme/session:$$(basename $$(dirname $$s)); done; \
		cp golden/acme/modec/policy.json $(BIN)/acme/session:policy.json; cp -r fixtures/acme/modec fixtures/acme/modec.toml $(BIN)/acme

# node TESTS runs tests with the program and what it makes of the showcase.
node = MODEC_BIN=$(BIN)/modec MODEC_OUT=$(BIN)/acme MODEC_FIXTURE=$(CURDIR)/fixtures/acme MODEC_FIXTURES=$(CURDIR)/fixtures \
	node --test --test-concurrency=2 --test-timeout=600000 --test-reporter=spec $(1)

# The pictures of the README. Nothing compares them: every machine draws letters in its own way.
screens: acme
	@$(call installed,cmd/modec/internal/page/e2e/screens.mjs); $(call node,cmd/modec/internal/page/e2e/screens.mjs)

quick: acme
	@$(call part,quick,$(call installed,$(QUICK)); MODEC_QUICK=1 MODEC_CORPUS= $(call node,$(QUICK)))

e2e: acme
	@$(call part,e2e,$(call installed,$(OFSERVERS) $(BEHIND) $(QUICK)); $(call node,$(OFSERVERS) $(BEHIND)))

# MODEC_RECORD has the tests write what their agent did.
agents: acme
	@$(call part,agents,$(call installed,$(OFAGENTS)); MODEC_RECORD=1 $(call node,$(OFAGENTS)))

bench:
	go test -run '^$$' -bench . -benchmem ./compiler/...
	go test -run '^$$' -bench . -benchtime $(RUNS)x ./cmd/modec

# The fuzz targets that run a thousand times in a second or so.
QUICKFUZZ := FuzzCheck FuzzCommand FuzzECMAScript FuzzList FuzzMerge FuzzParse FuzzPathName FuzzRead FuzzUnmarshal

# Executions are counted, and not seconds: at the end of a time Go's fuzzing fails now and then
# with "context deadline exceeded" (golang/go#75804, which Go 1.27 repairs). The inputs that Go's
# cache keeps of earlier runs count too.
# Two packages at a time: one is compiled while the other one runs.
FUZZED = $(subst /,+,$(patsubst ./%/,%,$(call tested,^func Fuzz)))
fuzz:
	@$(call part,fuzz,$(MAKE) -j2 -Otarget $(FUZZED:%=fuzz+%) COUNT=$(COUNT))

fuzz+%:
	@for f in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $(subst +,/,$*)/*_test.go); do \
		count=$(COUNT); case " $(QUICKFUZZ) " in *" $$f "*) count=$${count}0;; esac; \
		echo "$(subst +,/,$*) $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $${count}x ./$(subst +,/,$*); \
	done

# Other sources than those of TestDrawn, each in every form: make drawn FROM=812000
drawn: COUNT := 1000
drawn: FROM := 700000
drawn:
	go test ./compiler/verify -timeout 0 -run '^TestDrawn$$' -more $(COUNT) -from $(FROM)

golden:
	go test ./golden -update

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo devel)

# A release says nothing of the time, the machine or the folder: the same source gives
# the same bytes. The SBOM contains digests of the program that wrote it, so that program
# is built the same way; it has a go.mod of its own, because its modules are not modec's.
RELEASE := CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
SBOM := go -C .ci/sbom tool cyclonedx-gomod bin -json -noserial -notimestamp -short-purls -std -version $(VERSION)

# RELEASED is the folder of a release.
RELEASED ?= $(BIN)/release

release:
	@rm -rf $(RELEASED) $(RELEASED).completions && mkdir -p $(RELEASED) $(RELEASED).completions
	@for p in $(PLATFORMS); do \
		out=$(RELEASED)/modec-$(VERSION)-$${p%/*}-$${p#*/}; [ $${p%/*} != windows ] || out=$$out.exe; \
		$(RELEASE) GOOS=$${p%/*} GOARCH=$${p#*/} go build -ldflags "-s -w -X main.release=$(VERSION)" -o $$out ./cmd/modec; \
	done
	@first=$(firstword $(PLATFORMS)); first=$(RELEASED)/modec-$(VERSION)-$${first%/*}-$${first#*/}; \
		[ -e $$first ] || first=$$first.exe; \
		$(RELEASE) $(SBOM) -output $(RELEASED)/modec-$(VERSION).cdx.json $$first
	@$(RELEASE) go build -o $(RELEASED).completions/modec ./cmd/modec
	@cd $(RELEASED).completions && for s in bash:modec.bash zsh:_modec fish:modec.fish; do \
		./modec completion $${s%:*} > $${s#*:}; \
	done
	@$(RELEASE) go -C .ci/release run . -dir $(RELEASED) -version $(VERSION) -root $(CURDIR) -completions $(RELEASED).completions
	@rm -rf $(RELEASED).completions
	@cd $(RELEASED) && LC_ALL=C && sha256sum * > ../SHA256SUMS && mv ../SHA256SUMS . && cat SHA256SUMS

# What people install is tried for the platform of this machine: unpacked, installed, started. The
# SBOM is left out, because its program takes longer to build than all of that.
packages:
	@$(call part,packages,\
		$(MAKE) release RELEASED=$(BIN)/packages VERSION=v0.0.1 SBOM=: PLATFORMS=$$(go env GOHOSTOS)/$$(go env GOHOSTARCH) >/dev/null; \
		MODEC_RELEASED=$(BIN)/packages go -C .ci/release test ./...)

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
