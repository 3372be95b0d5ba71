# flakeward: everything is built, checked and measured with Go alone. What tests want beside it
# (etcd, ZooKeeper with Java, a C compiler for the race detector) root gets by apt-get; anybody else
# is told what to install. Tools are those of tools/go.mod, built by the go command when they are
# wanted. What takes longer than a change may has its names in scripts/prove.

GO ?= go
export GO
TOOL := GOWORK=off $(GO) tool -modfile=tools/go.mod

# The version that `flakeward version` prints. Without it, the program prints the release and the
# commit of the checkout.
VERSION ?=
export VERSION
export LDFLAGS := $(if $(VERSION),-X github.com/flakeward/flakeward/cli.version=$(VERSION))

help: ## what make can do
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: help build install image images packages release test lint sim e2e bench mutants generate clean

build: ## the program, as ./flakeward
	scripts/build flakeward

# DESTDIR is for packagers. The files land below it as they would below /.
PREFIX  ?= /usr/local
DESTDIR ?=
install: build ## the program in $(PREFIX)/bin; DESTDIR for packagers
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 flakeward '$(DESTDIR)$(PREFIX)/bin/flakeward'

image: ## the images flakeward:latest and, for Kubernetes, flakeward-csi:latest
	@scripts/load-image $(or $(IMAGE),flakeward:latest)
	@scripts/load-image flakeward-csi:latest csi .

images: image ## all images that deploy/local.env names, without a registry
	@sh e2e/images/build.sh etcd
	@sh e2e/images/build.sh zookeeper

DIST ?= .bin/dist
packages: ## deb, rpm and apk for this machine, in .bin/dist
	@rm -rf $(DIST) && scripts/package $(DIST) $$($(GO) env GOARCH) && ls -l $(DIST)

release: ## archives, packages, SBOMs, images and checksums for amd64 and arm64
	@rm -rf $(DIST) && IMAGES=1 scripts/package $(DIST) amd64 arm64
	@cd $(DIST) && sha256sum * >SHA256SUMS && cat SHA256SUMS

# The last line says `N passed, N failed, N skipped`. In CI, what is missing fails its tests.
test: ## tests, with the race detector where goroutines share state
	@scripts/need race zookeeper etcd
	@scripts/test

# One pass for each module; .golangci.yml says what is asked. The rendered files are compared, and
# so is the lowest Go version with the one that the dependencies ask for.
lint: ## format, vet, staticcheck, no sleeping, no real clock, and what ships needs nothing of what proves
	@lint="$$(GOWORK=off $(GO) tool -modfile=tools/lint/go.mod -n golangci-lint)" && \
	for module in . e2e csi deploy/sbom; do echo "lint: $$module" && (cd $$module && CGO_ENABLED=0 GOFLAGS=-trimpath "$$lint" run ./...) || exit; done && \
	echo 'lint: what only other systems or a build without the drills have' && CGO_ENABLED=0 GOOS=darwin "$$lint" run --enable-only depguard --build-tags grpcnotrace ./...
	@echo 'lint: deploy/mixin is formatted and rendered'
	@$(TOOL) jsonnetfmt --test deploy/mixin/*.libsonnet deploy/mixin/*.jsonnet || { echo 'run make generate' >&2; exit 1; }
	@rendered=$$(mktemp -d); trap 'rm -rf "$$rendered"' EXIT; $(TOOL) jsonnet -S -m "$$rendered" deploy/mixin/render.jsonnet >/dev/null && \
	diff -r "$$rendered" deploy/mixin/rendered || { echo 'deploy/mixin/rendered is not current: run make generate' >&2; exit 1; }
	@lowest=$$(GOWORK=off $(GO) list -m -f '{{if not .Main}}{{.GoVersion}}{{end}}' all | sort -V | tail -1); \
	[ "$$lowest" = "$$(GOWORK=off $(GO) list -m -f '{{.GoVersion}}')" ] || { \
		echo "go.mod and the dependencies differ: they allow Go $$lowest" >&2; exit 1; }
	@echo 'lint: ok'

# A seed that fails is shrunk to the faults that it needs, and prints the command that replays it.
N    ?= 10000
FROM ?= 1
sim: ## N (10,000) simulated clusters from the seed FROM (1) on
	CGO_ENABLED=0 $(GO) run -trimpath -tags urfave_cli_no_docs,grpcnotrace ./sim -n $(N) -from $(FROM)

# e2e/drills/run.sh says more. The report is e2e/report.md.
DRILL ?=
e2e: ## drills in containers, on etcd and ZooKeeper; DRILL=etcd/calm or DRILL=/calm for one
	@e2e/drills/run.sh $(DRILL)

# ONLY='socket|idle' measures these sections and leaves the page's others.
ONLY ?= .*
bench: build ## speed next to the peers: docs/benchmarks.md; some twenty minutes
	@scripts/need peers etcd zookeeper
	$(GO) test ./e2e/bench -count=1 -v -timeout 1h -run '^TestBench$$/^($(ONLY))$$' -args -daemon '$(CURDIR)/flakeward' -page '$(CURDIR)/docs'

# About half an hour. MUTANT=floor-ignored for one.
MUTANT ?=
mutants: ## whether simulation and tests find what is broken on purpose
	@scripts/need zookeeper etcd
	@$(GO) run ./sim/mutants $(MUTANT)

# Tests say whether the Go code is of the definition in api/, and whether the rules for Kubernetes
# are the mixin's.
TEMPLATE := {"version": "v2", "plugins": [{"local": "protoc-gen-go", "out": ".", "opt": "paths=source_relative"}, \
	{"local": "protoc-gen-connect-go", "out": ".", "opt": "paths=source_relative"}]}
generate: ## the Go code of api/, after its checks, and the dashboard, rules and alerts of deploy/mixin
	@plugins=$$(mktemp -d); trap 'rm -rf "$$plugins"' EXIT; \
	for plugin in protoc-gen-go protoc-gen-connect-go; do ln -s "$$(GOWORK=off $(GO) tool -n $$plugin)" "$$plugins/" || exit; done; \
	buf=$$($(TOOL) -n buf) && cd api && "$$buf" format --diff --exit-code && "$$buf" lint && \
	"$$buf" breaking --against released.txtpb && PATH="$$plugins:$$PATH" "$$buf" generate --template '$(TEMPLATE)'
	@$(TOOL) jsonnetfmt -i deploy/mixin/*.libsonnet deploy/mixin/*.jsonnet
	@$(TOOL) jsonnet -S -m deploy/mixin/rendered deploy/mixin/render.jsonnet >/dev/null
	@$(TOOL) jsonnet -S -m deploy deploy/mixin/kubernetes.jsonnet >/dev/null

clean: ## removes what was built
	rm -rf flakeward .bin
