# Everything a contributor runs. Each verb works in a fresh clone with Go 1.26 alone.
GO     ?= go
TOOL    = $(GO) tool -modfile=tools.mod
PKGS   ?= ./...
# The race detector needs a C compiler; without one the tests run plain.
RACE   ?= $(shell command -v cc >/dev/null 2>&1 && echo -race)
COUNT  ?=
BUILD   = CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w"

.PHONY: build release screens test lint bench bench-tea terminal-table terminal-diff terminal-record xterm chaos chaos-long soak agents golden fuzz-short check clean

build: ## one static binary, ./scv
	$(BUILD) -o scv ./cmd/scv

release: ## tar files, debs, formula, parts lists and checksums of all targets, in ./dist
	scripts/release.sh dist

screens: ## the screens of README and docs, from real runs
	scripts/screens.sh

test: ## all tests
	$(GO) test $(RACE) $(COUNT) -timeout 20m $(PKGS)

lint: ## what must be empty before a change lands
	$(GO) vet ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	$(GO) vet -tags failpoint ./internal/failpoint ./cmd/scv
	@out=$$($(TOOL) gofumpt -l cmd internal bench); test -z "$$out" || { echo "not formatted by gofumpt:"; echo "$$out"; exit 1; }
	@out=$$($(GO) fix -diff ./...); test -z "$$out" || { echo "$$out"; exit 1; }
	$(TOOL) staticcheck ./...
	$(TOOL) exhaustive -d -typeonly '(wire[.]AgentState|state[.]Event|control[.]Life)' ./...
	@out=$$($(TOOL) deadcode -test ./...); test -z "$$out" || { echo "$$out"; exit 1; }
	$(GO) mod verify

bench: ## the tables of bench/README.md, measured here
	$(GO) run ./bench

# Other emulators stand in bench/terminals/terminals.mod, and xterm.js and tmux are programs; none is part of scv.
bench-tea: ## the dashboard's drawing beside bubbletea's
	$(GO) run -modfile=bench/tea/tea.mod $(addprefix bench/tea/,main.go frames.go draw.go)

TERMINALS = $(GO) run -modfile=bench/terminals/terminals.mod bench/terminals/main.go $(filter-out %/doc.go %/main.go,$(wildcard bench/terminals/*.go))
XTERM = dist/xterm
xterm:
	@test -d $(XTERM)/node_modules/@xterm/headless || npm install --silent --no-audit --no-fund --prefix $(XTERM) @xterm/headless@6.0.0

CASES ?=
terminal-table: xterm ## the emulators' table of docs/terminal.md, from a folder of cases: make terminal-table CASES=DIR
	$(TERMINALS) -cases "$(CASES)" -xterm "$(abspath $(XTERM))" -into docs/terminal.md

STREAMS ?= 500
terminal-diff: xterm ## streams on which the emulator and xterm.js with tmux differ (SEED, STREAMS)
	$(TERMINALS) -diff $(STREAMS) -seed $(SEED) -xterm "$(abspath $(XTERM))"

RECORDINGS ?= dist/recordings
terminal-record: xterm ## records the programs that are installed, and compares what the emulator and xterm.js make of them
	$(TERMINALS) -record $(RECORDINGS)
	$(TERMINALS) -replay $(RECORDINGS) -xterm "$(abspath $(XTERM))"

# SEED replays what a failure printed; RUN chooses tests.
CHAOS = $(GO) test ./internal/testkit/chaos -count=1 -v -run "$(or $(RUN),.)"
SEED ?= 0

chaos: ## kills, faults and power losses, in minutes
	$(CHAOS) -timeout 60m -args -seed $(SEED) -long 4 -soak 1m

chaos-long: ## the same, in an hour or two
	$(CHAOS) -timeout 6h -args -seed $(SEED) -long 25 -soak 10m

soak: RUN = Soak
soak: ## an hour of fifty runs and clients that misbehave
	$(CHAOS) -timeout 3h -args -seed $(SEED) -soak 1h

agents: ## tries every agent that is installed (SCV_REAL_NAME names its program) and writes the matrix of docs/agents.md
	$(GO) test ./internal/testkit/acceptance -count=1 -v -run "TestMatrix" -timeout 60m -args -every -update

golden: ## writes generated pages and golden files anew
	$(GO) test ./internal/workbench/state ./internal/wire -update

fuzz-short: ## each fuzz target for ten seconds
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 10s $$p || exit 1; done; \
	done

check: lint test

clean:
	rm -f scv
