# flakeward: everything is built, checked and measured with Go alone. `make test`
# wants a C compiler for the race detector, FUSE, Prometheus, Chromium, ZooKeeper with Java, Redis, PostgreSQL and the
# Redis clients of several languages to test against, which it installs if it may.

GO       ?= go
BIN      := .bin/$(shell $(GO) env GOVERSION)
# What runs whole programs is a module of its own, e2e/, so that go.mod names only what the program and its tests need; go.work joins all.
PACKAGES ?= ./... ./csi/sanity/... ./deploy/sbom/... ./e2e/...
FUZZTIME ?= 60s

# The linters, each built once into $(BIN); a new version is a new file.
STATICCHECK := $(BIN)/staticcheck-v0.8.2
FORBIDIGO   := $(BIN)/forbidigo-v2.3.1
# What reports on tests.
GOTESTSUM   := $(BIN)/gotestsum-v1.13.0
# What makes the packages: the newest version whose modules can all be had.
NFPM        := $(BIN)/nfpm-v2.45.0

# What renders deploy/mixin.
JSONNET    := $(BIN)/jsonnet-v0.22.0
JSONNETFMT := $(BIN)/jsonnetfmt-v0.22.0

# What makes the Go code of api/ from its definition.
BUF         := $(BIN)/buf-v1.75.0
GEN_GO      := $(BIN)/protoc-gen-go-v1.36.11
GEN_CONNECT := $(BIN)/protoc-gen-connect-go-v1.21.1
# Clients that a test has beside curl, redis-cli and a browser.
GRPCURL := $(BIN)/grpcurl-v1.9.4
GHZ     := $(BIN)/ghz-v0.93.0

# The version that `flakeward version` prints. Without it, the program prints the release and the
# commit of the checkout.
VERSION ?=
LDFLAGS := $(if $(VERSION),-X github.com/flakeward/flakeward/cli.version=$(VERSION))

# Without cgo and without what nobody asks for here (the documentation generator of
# the command line, gRPC's trace pages) a daemon takes 2 MB less memory.
TAGS  := urfave_cli_no_docs,grpcnotrace
# What ships is made of the versions in its own go.mod, as by 'go install': go.work has no say. FROM is the module's directory.
FROM  := .
BUILD = CGO_ENABLED=0 GOWORK=off $(GO) build -C $(FROM) -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)'
# What is not tested for races is compiled as what ships, so that each package is compiled once for both.
AS_SHIPPED := -trimpath -tags $(TAGS)

help: ## what make can do
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: help check full api doors build install packages packages-test release cross image images drill-image drill-images sidecar-image kube test lint fuzz powercut soak e2e e2e-short e2e-long e2e-run e2e-mutants sim mutants model bench peers clean race-detector zookeeper etcd clients prometheus chromium uncovered mixin

build: ## the program, as ./flakeward
	$(BUILD) -o flakeward .

# DESTDIR is for packagers. The files land below it as they would below /.
PREFIX  ?= /usr/local
DESTDIR ?=
install: build ## the program in $(PREFIX)/bin; DESTDIR for packagers
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 flakeward '$(DESTDIR)$(PREFIX)/bin/flakeward'

# deb, rpm and apk for this machine's architecture, below $(DIST).
DIST ?= .bin/dist
PACKAGE = GO=$(GO) NFPM="$(CURDIR)/$(NFPM)" TAGS=$(TAGS) LDFLAGS='$(LDFLAGS)' VERSION=$(VERSION) scripts/package
packages: $(NFPM) ## deb, rpm and apk for this machine, in .bin/dist
	@rm -rf $(DIST) && $(PACKAGE) $(DIST) $$($(GO) env GOARCH) && ls -l $(DIST)

# The packages in Debian, with a systemd of their own, in a container: twice the same bytes, lintian, install, systemd's
# part of the daemon, reload, upgrade, remove, purge. Two minutes, after a first time that fetches Debian.
packages-test: $(NFPM) ## the packages and the units in Debian, in a container
	@scripts/need-packaging
	@GO=$(GO) sh e2e/images/build.sh systemd
	@rm -rf $(DIST) $(DIST)-again && IMAGES=1 $(PACKAGE) $(DIST) $$($(GO) env GOARCH)
	@touch LICENSE deploy/packages/* deploy/systemd/* # as in another checkout
	@TZ=Asia/Tokyo IMAGES=1 $(PACKAGE) $(DIST)-again $$($(GO) env GOARCH)
	@$(MAKE) --no-print-directory packages VERSION=0.1.1 DIST=$(DIST)/next >/dev/null
	@$(GO) test -count=1 -v -tags e2e -timeout 15m ./e2e/packages -args -dist "$(CURDIR)/$(DIST)"

# What is released: archives, packages, the lists of what the programs are made of, and images, for both architectures.
release: $(NFPM) ## archives, packages, SBOMs, images and checksums for amd64 and arm64
	@rm -rf $(DIST) && IMAGES=1 $(PACKAGE) $(DIST) amd64 arm64
	@cd $(DIST) && sha256sum * >SHA256SUMS && cat SHA256SUMS

# The systems besides this one: arm64 is vetted, built and run under qemu, macOS is built, Windows is refused by name.
cross: ## arm64 under qemu, a build for macOS, none for Windows
	@scripts/need-packaging
	@GO=$(GO) TAGS=$(TAGS) scripts/cross

# The image flakeward:latest, from scratch: the program without its symbols, which are a third of it.
IMAGE ?= flakeward:latest
MAIN  := .
image: ## the image flakeward:latest
	@set -eu; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	GOOS=linux $(BUILD) -ldflags '-s -w $(LDFLAGS)' -o "$$work/flakeward" $(MAIN); \
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} \
	scripts/image "$$work/flakeward" $$($(GO) env GOARCH) $(IMAGE) "$$work/image.tar"; \
	docker load --quiet --input "$$work/image.tar" >/dev/null

# All images that deploy/local.env names: for machines without a registry.
images: image ## all images that deploy/local.env names, without a registry
	@GO=$(GO) sh e2e/images/build.sh etcd
	@GO=$(GO) sh e2e/images/build.sh zookeeper

# What the drills run: the daemon of the drill build, the client that records, and
# the coordinators. What has not changed costs some seconds.
DRILL_IMAGE ?= flakeward-drill:local
drill-image:
	@$(MAKE) --no-print-directory image IMAGE=$(DRILL_IMAGE) TAGS=$(TAGS),drill FROM=e2e MAIN=./drilldaemon
sidecar-image: FROM := e2e
sidecar-image:
	@set -eu; umask 022; context=$$(mktemp -d); trap 'rm -rf "$$context"' EXIT; \
	mkdir -p "$$context/own/out"; \
	GOOS=linux $(BUILD) -ldflags '-s -w' -o "$$context/sidecar" ./sidecar; \
	docker build --quiet --tag flakeward-sidecar:local --file e2e/images/sidecar/Dockerfile "$$context" >/dev/null; \
	docker image inspect --format 'flakeward-sidecar:local: {{.Size}} bytes' flakeward-sidecar:local
drill-images: drill-image sidecar-image ## the images that the drills run
	@GO=$(GO) sh e2e/images/build.sh etcd
	@GO=$(GO) sh e2e/images/build.sh zookeeper

# Packages that live on an injected clock: production code there must not know
# the real one. Test servers may. The one line that reads it, in clockguard, carries a
# //permit:time.Now comment and says why.
CLOCKED  = $$($(GO) list ./generator/... ./clockguard/... ./coord/... ./daemon/... | grep -v /zktest/zkserver)
NO_CLOCK := {p: "^time\\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)$$", msg: "the real clock: use the injected clockguard.Clock"}
NO_SLEEP := {p: "^time\\.Sleep$$", msg: "no sleeping: wait for the event, or inject the clock"}

# Each linter goes once over the plain build, and once over everything else: no file wants only one of the two tags.
TAGGED := drill,e2e,grpcnotrace
lint: export CGO_ENABLED := 0
lint: export GOFLAGS := $(shell $(GO) env GOFLAGS) -trimpath
lint: $(STATICCHECK) $(FORBIDIGO) $(JSONNET) $(JSONNETFMT) ## gofmt, vet, staticcheck, no sleeping, no real clock
	@echo 'lint: gofmt'
	@unformatted=$$(find . -name '*.go' -not -path './.bin/*' -print0 | xargs -0 -r "$$($(GO) env GOROOT)/bin/gofmt" -s -l); \
	if [ -n "$$unformatted" ]; then \
		echo "not formatted (run gofmt -s -w on them):"; echo "$$unformatted"; exit 1; \
	fi
	@echo 'lint: go vet'
	@$(GO) vet -tags $(TAGS) $(PACKAGES)
	@$(GO) vet -tags $(TAGGED) ./... ./e2e/...
	@echo 'lint: staticcheck'
	@$(STATICCHECK) -tags $(TAGS) $(PACKAGES)
	@$(STATICCHECK) -tags $(TAGGED) ./... ./e2e/...
	@echo 'lint: what ships imports nothing of what proves'
	@$(GO) test $(AS_SHIPPED) -count=1 -run '^TestBorder' .
	@echo 'lint: forbidigo, no sleeping anywhere'
	@GOFLAGS="$$($(GO) env GOFLAGS) -tags=$(TAGS)" $(FORBIDIGO) -set_exit_status '$(NO_SLEEP)' -- $(PACKAGES)
	@GOFLAGS="$$($(GO) env GOFLAGS) -tags=$(TAGGED)" $(FORBIDIGO) -set_exit_status '$(NO_SLEEP)' -- ./... ./e2e/...
	@echo 'lint: forbidigo, no real clock where one is injected'
	@GOFLAGS="$$($(GO) env GOFLAGS) -tags=$(TAGGED)" $(FORBIDIGO) -set_exit_status -tests=false -analyze_types '$(NO_CLOCK)' -- $(CLOCKED)
	@echo 'lint: deploy/mixin is formatted and rendered'
	@$(JSONNETFMT) --test deploy/mixin/*.libsonnet deploy/mixin/*.jsonnet || { echo 'run make mixin' >&2; exit 1; }
	@rendered=$$(mktemp -d); trap 'rm -rf "$$rendered"' EXIT; $(JSONNET) -S -m "$$rendered" deploy/mixin/render.jsonnet >/dev/null && \
	diff -r "$$rendered" deploy/mixin/rendered || { echo 'deploy/mixin/rendered is not current: run make mixin' >&2; exit 1; }
	@echo 'lint: the lowest Go version is the one that the dependencies ask for'
	@lowest=$$($(GO) list -m -f '{{if not .Main}}{{.GoVersion}}{{end}}' all | sort -V | tail -1); \
	[ "$$lowest" = "$$($(GO) list -m -f '{{.GoVersion}}' github.com/flakeward/flakeward)" ] || { \
		echo "go.mod and the dependencies differ: they allow Go $$lowest" >&2; exit 1; }
	@echo 'lint: ok'

# The definition of the gRPC interface: checked, compared with what was released, and made into Go. A test
# says whether the Go code is of the definition, so that this is for those who change it.
api: $(BUF) $(GEN_GO) $(GEN_CONNECT) ## the Go code of the gRPC interface, and what guards its definition
	@cd api && $(CURDIR)/$(BUF) format --diff --exit-code && $(CURDIR)/$(BUF) lint && \
	$(CURDIR)/$(BUF) breaking --against released.txtpb && $(CURDIR)/$(BUF) generate --template \
	'{"version": "v2", "plugins": [{"local": "$(CURDIR)/$(GEN_GO)", "out": ".", "opt": "paths=source_relative"}, {"local": "$(CURDIR)/$(GEN_CONNECT)", "out": ".", "opt": "paths=source_relative"}]}'

# Building the three takes minutes of a processor, so `make test` has the same test without them.
doors: $(BUF) $(GRPCURL) $(GHZ) chromium clients ## curl, redis-cli, a browser, buf, grpcurl and ghz at once on one socket
	@mkdir -p $(BIN)/doors && ln -sf ../$(notdir $(BUF)) $(BIN)/doors/buf && \
	ln -sf ../$(notdir $(GRPCURL)) $(BIN)/doors/grpcurl && ln -sf ../$(notdir $(GHZ)) $(BIN)/doors/ghz
	@$(GO) test ./e2e/doors -count=1 -timeout 5m -v -run AtOnce -args -tools "$(CURDIR)/$(BIN)/doors"

# The power of a host with the embedded coordinator cut at flushes of journal and store, 1,000 times:
# some minutes. It wants FUSE (/dev/fuse, and root or user namespaces), as the short form does that is
# among the tests. SEED=N has the same choices again.
powercut: ## 1,000 power cuts at flushes of journal and store
	$(GO) test ./e2e/powercut -count=1 -timeout 1h -v -run TestPowerCuts -args -cuts 1000 -seed $(SEED)

# The quick loop: what needs neither a server nor a C compiler.
SERVED := /(audit/history|cli|coord/(connect|etcd|etcd/etcdtest|zk|zk/zktest(/zkserver)?)|daemon/grant|sim/simulation)$$
check: lint $(GOTESTSUM) ## format, vet, lint, and every test that needs no server and no C compiler
	@scripts/test-report $(GOTESTSUM) "CGO_ENABLED=0 $(GO) test -json $(AS_SHIPPED) -p 2 $$($(GO) list $(AS_SHIPPED) ./... | grep -v -E '$(SERVED)' | tr '\n' ' ')"

# What takes longer than a change may, in one table: docs/verification.md keeps the last one. Hours.
full: ## everything that is longer than .ci/run: drills, mutants, simulation, power cuts, model
	@scripts/full

# All tests, under the race detector, those of what only a drill build has, and those of
# the drills' own machinery. The last line says `N passed, N failed`.
# The simulated cluster, formats and reports run in one thread, and programs under test in processes of their own: there
# the race detector only costs time. Whole daemons on real servers are watched in `make full`; here their packages are.
# Four packages at a time on two cores, and those first whose tests mostly wait for servers.
# Lint has vetted already, and what a debugger wants is a third of the time that linking takes.
LINKED  := -vet=off '-ldflags=-s -w'
DRILLED := ./generator ./internal/fault
ALONE := . ./sim/simulation ./sim/mutants ./internal/base62 ./internal/form ./internal/publicid ./internal/uuid7
# They run programs, and Go does not see that files outside a test's module have changed: these never come from its cache.
FOREIGN := ./e2e/...
TESTED = $(GO) list $(PACKAGES) | grep -v -x -F "$$($(GO) list $(ALONE) $(FOREIGN))" | \
	awk '{ print ($$0 ~ "/(audit/history|coord/etcd|coord/zk|flakeward/daemon)$$") ? 0 : 1, NR, $$0 }' | sort -k1,1n -k2,2n | cut -d ' ' -f 3
# Under the race detector a storm of claims has a quarter of its daemons; so it is run once more, whole and by itself.
# Nor is what it does of use to a long computation of one goroutine.
STORM  := TestStorm
APART  := TestEveryRateIsEven|TestIDsAreEvenAtEveryRate|TestEachSettingHasAVariableAndAKey|FuzzSettings

define TESTS
failed=0
CGO_ENABLED=1 $(GO) test -json $(LINKED) -race -p 4 -timeout 15m -skip '^($(APART))$$' $$($(TESTED)) || failed=1
CGO_ENABLED=0 $(GO) test -json $(LINKED) $(AS_SHIPPED) -p 4 -timeout 15m $(ALONE) || failed=1
CGO_ENABLED=0 $(GO) test -json $(LINKED) $(AS_SHIPPED) -count=1 -p 4 -timeout 15m $(FOREIGN) || failed=1
CGO_ENABLED=0 $(GO) test -json $(LINKED) $(AS_SHIPPED) -count=1 -p 1 -timeout 15m -run '^($(STORM)|$(APART))$$' ./coord/etcd ./coord/zk ./generator ./cli ./daemon/issue || failed=1
CGO_ENABLED=1 $(GO) test -json $(LINKED) -race -tags drill -run '^TestDrill' $(DRILLED) || failed=1
CGO_ENABLED=1 $(GO) test -json $(LINKED) -race -tags e2e -skip TestDrills ./e2e/drills || failed=1
exit $$failed
endef
test: export TESTS := $(TESTS)
test: race-detector zookeeper etcd clients peers prometheus chromium $(GOTESTSUM) ## all tests, with the race detector
	@scripts/test-report $(GOTESTSUM) "$$TESTS"

# Every parser and decoder of what comes from outside, FUZZTIME each, FUZZERS at a time: FUZZTIME=1s for a change of a
# parser. A finding is kept under testdata/fuzz of its package and fails `make test` from then on.
FUZZERS ?= 2
fuzz: ## every parser, FUZZTIME (60s) each
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' . | sed -E 's|/[^/]*:func | |' | sort | \
	xargs -P $(FUZZERS) -n 2 sh -c '$(GO) test -tags drill,e2e -run "^$$" -fuzz "^$$1\$$" -fuzztime $(FUZZTIME) -parallel 1 "$$0" 2>&1' | \
	awk '{ print } /^ok / { n++ } /^FAIL\t/ { n++; bad++ } END { printf "%d targets fuzzed for $(FUZZTIME) each, %d failed\n", n, bad; exit bad > 0 || n == 0 }'

# The drills of a cluster in their long form, one after the other, each with its
# figures: about 15 minutes. DRILL=TestHole3 runs one of them.
DRILL ?= .
soak: ## the cluster's drills in their long form; DRILL=Name for one
	$(GO) test ./e2e/cluster -count=1 -parallel 1 -timeout 3h -v -run '$(DRILL)' -args -long

# Drills: clusters in containers, on etcd and on ZooKeeper, broken in every way and judged by every ID that they
# handed out. Wants docker with compose. The report is e2e/report.md, the evidence lies below e2e/runs.
# DRILL=etcd/calm runs one of them (DRILL=/calm on both), SEED=N chooses the same faults again.
SEED ?= 0
e2e: drill-images ## drills in containers on etcd and on ZooKeeper; DRILL=/name for one
	@$(call drills,40m,)

# The short form, for every change: each drill on one of the two coordinators, in turn.
e2e-short: drill-images ## each drill on one of the two
	@$(call drills,40m,-once)

# The long form: a long storm of faults on each coordinator, about 15 minutes.
e2e-long: drill-images ## the drills with a long storm of faults
	@$(call drills,1h,-long)

# The drills with other flags, on images that are there.
e2e-run:
	@$(call drills,40m,$(DRILL_FLAGS))

# Whether the drills find bugs: the daemon broken on purpose, in each way of e2e/mutants.txt. MUTANT=floor for one.
MUTANT ?=
e2e-mutants: drill-images ## whether the drills find what is broken on purpose
	@$(GO) run ./sim/mutants -drills $(MUTANT)

# drills TIMEOUT,FLAGS: the program itself and not go test runs them, so that a signal reaches it and its table comes last.
define drills
mkdir -p $(BIN) && CGO_ENABLED=0 $(GO) test -c $(AS_SHIPPED),e2e -o $(BIN)/drills ./e2e/drills && cd e2e/drills && \
exec "$(CURDIR)/$(BIN)/drills" -test.v -test.timeout $(1) -test.run '$(if $(filter-out .,$(DRILL)),TestDrills/$(DRILL),.)' $(2) -seed $(SEED)
endef

# deploy/kubernetes and the chart on a Kubernetes of one node, in namespaces of its own, under load: updates by surge, pods
# killed, the node drained. Wants root, docker with its containerd and runc, iproute2, iptables and nftables. The first build takes minutes.
KUBE := .bin/kube
kube: sidecar-image ## deploy/kubernetes and the chart on a real Kubernetes of one node, under load
	@GO=$(GO) sh e2e/kube/build.sh $(KUBE)
	@$(MAKE) --no-print-directory image IMAGE=flakeward:kube
	@$(MAKE) --no-print-directory image IMAGE=flakeward:kube-next VERSION=0.1.1-next
	@GO=$(GO) sh e2e/images/build.sh etcd
	@sh e2e/kube/images.sh $(KUBE)
	@mkdir -p $(BIN) && CGO_ENABLED=0 $(GO) test -c $(AS_SHIPPED),e2e -o $(BIN)/kube ./e2e/kube && cd e2e/kube && \
	exec "$(CURDIR)/$(BIN)/kube" -test.v -test.timeout 14m -programs "$(abspath $(KUBE))"

# Clusters simulated from seeds, 10,000 of them; a failing one prints the command that replays it.
sim: ## 10,000 simulated clusters
	CGO_ENABLED=0 $(GO) run $(AS_SHIPPED) ./sim -n 10000

# What of the code that claims worker IDs and keeps the journal the simulation never reaches, by coverage.
uncovered: ## which statements the simulation never reaches
	@GO=$(GO) scripts/uncovered

# Whether the simulation and the unit tests find bugs: flakeward broken on purpose, in each way that sim/mutants has, about
# half an hour. MUTANT=floor-ignored for one.
mutants: zookeeper ## whether simulation and tests find what is broken on purpose; MUTANT=name for one
	@$(GO) run ./sim/mutants $(MUTANT)

# The protocol, model-checked; wants spin and gcc, two cores, 8 GB, and some minutes.
model: ## the protocol, model-checked by spin
	@docs/model/run.sh

# The daemon next to its peers, measured in turn on this machine, some twenty minutes of it: docs/benchmarks.md with tables,
# docs/benchmarks.json with the samples. ONLY=socket,idle measures these sections and leaves the page's others. As root it
# installs the peers that are missing, by apt-get.
ONLY ?=
bench: build peers ## speed next to the peers: docs/benchmarks.md
	$(GO) run ./e2e/bench -daemon ./flakeward -only '$(ONLY)'

peers: ## Redis and PostgreSQL, by apt-get
	@scripts/need-peers

clean: ## removes what was built
	rm -rf flakeward .bin

race-detector:
	@GO=$(GO) scripts/need-race-detector

zookeeper:
	@scripts/need-zookeeper

# The servers of several releases that the tests of coord/etcd log in to: Debian's package, the others from their modules.
# The first build takes some minutes of a processor.
etcd:
	@set -eu; for release in 3.4 3.5 3.6 3.7; do GO=$(GO) sh coord/etcd/etcdtest/releases/build.sh $$release .bin/etcd; done

clients:
	@scripts/need-clients

prometheus:
	@scripts/need-prometheus

chromium:
	@scripts/need-chromium

$(STATICCHECK):
	@$(call install,honnef.co/go/tools/cmd/staticcheck@v0.8.2,staticcheck)

$(NFPM):
	@$(call install,github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0,nfpm)

$(GOTESTSUM):
	@$(call install,gotest.tools/gotestsum@v1.13.0,gotestsum)

$(FORBIDIGO):
	@$(call install,github.com/ashanbrown/forbidigo/v2@v2.3.1,forbidigo)

$(JSONNET):
	@$(call install,github.com/google/go-jsonnet/cmd/jsonnet@v0.22.0,jsonnet)

$(JSONNETFMT):
	@$(call install,github.com/google/go-jsonnet/cmd/jsonnetfmt@v0.22.0,jsonnetfmt)

# The dashboard, rules and alerts of deploy/mixin, rendered. lint says if they are not current, and a test of
# e2e/manifests whether those for Kubernetes are.
mixin: $(JSONNET) $(JSONNETFMT) ## renders deploy/mixin: dashboard, rules, alerts
	@$(JSONNETFMT) -i deploy/mixin/*.libsonnet deploy/mixin/*.jsonnet
	@$(JSONNET) -S -m deploy/mixin/rendered deploy/mixin/render.jsonnet >/dev/null
	@$(JSONNET) -S -m deploy deploy/mixin/kubernetes.jsonnet >/dev/null

$(BUF):
	@$(call install,github.com/bufbuild/buf/cmd/buf@v1.75.0,buf)

$(GEN_GO):
	@$(call install,google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11,protoc-gen-go)

$(GEN_CONNECT):
	@$(call install,connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1,protoc-gen-connect-go)

$(GRPCURL):
	@$(call install,github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4,grpcurl)

$(GHZ):
	@$(call install,github.com/bojand/ghz/cmd/ghz@v0.93.0,ghz)

# install MODULE@VERSION,NAME: builds a tool and gives it its versioned name last,
# so that an interrupted build leaves nothing that looks finished.
define install
echo 'building $(1)'; mkdir -p $(BIN) && \
GOBIN="$(CURDIR)/$(BIN)" GOFLAGS= $(GO) install $(1) && mv $(BIN)/$(2) $@
endef
