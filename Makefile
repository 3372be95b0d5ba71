# flakeward: everything is built, checked and measured with Go alone. A C
# compiler is wanted by the race detector, redis-server by `make bench` only.

GO       ?= go
BIN      := .bin/$(shell $(GO) env GOVERSION)
PACKAGES ?= ./...
FUZZTIME ?= 60s

# The linters, each built once into $(BIN); a new version is a new file.
STATICCHECK := $(BIN)/staticcheck-v0.8.2
FORBIDIGO   := $(BIN)/forbidigo-v2.3.1

# The version that `flakeward version` prints. Without it, the build's own
# information is used.
VERSION ?=
LDFLAGS := $(if $(VERSION),-X github.com/flakeward/flakeward/cli.version=$(VERSION))

# Without cgo and without what nobody asks for here (the documentation generator of
# the command line, gRPC's trace pages) a daemon takes 2 MB less memory.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -tags urfave_cli_no_docs,grpcnotrace -ldflags '$(LDFLAGS)'

.PHONY: build test lint fuzz torture bench clean gcc

build:
	$(BUILD) -o flakeward .

# Packages that live on an injected clock: production code there must not know
# the real one. The one line that reads it, in clockguard, carries a
# //permit:time.Now comment and says why.
CLOCKED  := ./generator/... ./clockguard/... ./coord/... ./daemon/...
NO_CLOCK := {p: "^time\\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)$$", msg: "the real clock: use the injected clockguard.Clock"}
NO_SLEEP := {p: "^time\\.Sleep$$", msg: "no sleeping: wait for the event, or inject the clock"}

lint: $(STATICCHECK) $(FORBIDIGO)
	@echo 'lint: gofmt'
	@unformatted=$$(find . -name '*.go' -not -path './.bin/*' -print0 | xargs -0 -r "$$($(GO) env GOROOT)/bin/gofmt" -s -l); \
	if [ -n "$$unformatted" ]; then \
		echo "not formatted (run gofmt -s -w on them):"; echo "$$unformatted"; exit 1; \
	fi
	@echo 'lint: go vet'
	@$(GO) vet ./...
	@$(GO) vet -tags drill ./...
	@echo 'lint: staticcheck'
	@$(STATICCHECK) ./...
	@$(STATICCHECK) -tags drill ./...
	@echo 'lint: forbidigo, no sleeping anywhere'
	@$(FORBIDIGO) -set_exit_status '$(NO_SLEEP)' -- ./...
	@GOFLAGS="$$($(GO) env GOFLAGS) -tags=drill" $(FORBIDIGO) -set_exit_status '$(NO_SLEEP)' -- ./...
	@echo 'lint: forbidigo, no real clock where one is injected'
	@$(FORBIDIGO) -set_exit_status -tests=false -analyze_types '$(NO_CLOCK)' -- $(CLOCKED)
	@GOFLAGS="$$($(GO) env GOFLAGS) -tags=drill" $(FORBIDIGO) -set_exit_status -tests=false '$(NO_CLOCK)' -- $(CLOCKED)
	@echo 'lint: ok'

# All tests, under the race detector. The last line says `N passed, N failed`.
test: gcc
	@$(GO) run ./internal/testreport -race -timeout 15m $(PACKAGES)

# One fuzz target at a time, FUZZTIME each. A finding is kept under
# testdata/fuzz of its package and fails `make test` from then on.
fuzz:
	@set -e; for package in $$($(GO) list $(PACKAGES)); do \
		for target in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz' || true); do \
			echo "== $$package $$target for $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$package"; \
		done; \
	done

# Kills, restarts and clock steps under load, the long form.
torture:
	$(GO) run ./e2e/torture

# Speed of the lane and of the socket, side by side with Redis (redis-server and
# redis-tools must be installed).
bench: build
	$(GO) run ./bench -daemon ./flakeward

clean:
	rm -rf flakeward .bin

# The race detector links with C.
gcc:
	@set -- $$($(GO) env CC); command -v "$$1" >/dev/null || { \
		echo "make test: the race detector needs a C compiler, and there is no '$$1' on the PATH." >&2; \
		echo "Debian, Ubuntu: apt-get install gcc libc6-dev. Fedora: dnf install gcc. Alpine: apk add gcc musl-dev." >&2; \
		exit 1; }
	@[ "$$($(GO) env CGO_ENABLED)" = 1 ] || { \
		echo "make test: the race detector needs cgo, and CGO_ENABLED is $$($(GO) env CGO_ENABLED): unset it." >&2; \
		exit 1; }

$(STATICCHECK):
	@$(call install,honnef.co/go/tools/cmd/staticcheck@v0.8.2,staticcheck)

$(FORBIDIGO):
	@$(call install,github.com/ashanbrown/forbidigo/v2@v2.3.1,forbidigo)

# install MODULE@VERSION,NAME: builds a tool and gives it its versioned name last,
# so that an interrupted build leaves nothing that looks finished.
define install
echo 'lint: building $(1)'; mkdir -p $(BIN) && \
GOBIN="$(CURDIR)/$(BIN)" GOFLAGS= $(GO) install $(1) && mv $(BIN)/$(2) $@
endef
