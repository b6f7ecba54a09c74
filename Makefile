# Everything here works on a fresh Debian or Ubuntu machine with Go. Only image, up and
# down need a Docker engine. `make help` lists the targets.

GO        ?= go
BIN       := bin/assay
CACHE     := .cache
LAB       := $(CACHE)/assay-lab
# Both modules: lab/ has its own.
ALL       := ./... ./lab/...
MYSQL9    := $(CACHE)/mysql9
INFLUXDB  := $(CACHE)/influxdb
COSIGN    := $(CACHE)/cosign
# The compiler takes a fifth less CPU if it does not collect garbage before it is needed.
COMPILE   := GOGC=off GOMEMLIMIT=1500MiB $(GO)
# With the revision of the source, which the certificate names.
BUILD     := $(COMPILE) build -buildvcs=auto
# The program also runs in an empty container image: static, without paths of this machine,
# and without debug information, which is a third of its size and half of the time that it
# takes to link it or a test. All targets share what is compiled.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -gcflags=all=-dwarf=false -ldflags=-s)
COMPOSE   ?= docker compose
LINTER    := $(CACHE)/golangci-lint
GOLANGCI  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
TEST_TIMEOUT := 25m
SOAK_RUNS := 100

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/assay, bin/assay-verify and bin/assay-lab
	$(BUILD) -o bin/ ./cmd/assay ./cmd/assay-verify ./lab/cmd/assay-lab

.PHONY: certify
certify: ## Set up what is missing, and certify payment and ingestion on the local stack
	.ci/install certify
	$(MAKE) --no-print-directory build
	@influxd=$$(.ci/influxd $(INFLUXDB)) || echo "no InfluxDB: runs cannot be watched while they are in progress" >&2; \
	set -x && ASSAY_INFLUXD="$$influxd" $(BIN) certify payment ingestion

# Without a revision, as the test binaries are: workers only join a coordinator of their build.
BUILDLAB = $(COMPILE) build -buildvcs=false -o $(LAB) ./lab/cmd/assay-lab
# The programs that tests need: servers, and assay-lab.
SERVERS = ASSAY_LAB="$(CURDIR)/$(LAB)" \
	ASSAY_TEST_MYSQLD="$$(.ci/mysql9 $(MYSQL9))" \
	ASSAY_TEST_MARIADBD="$$(PATH="$$PATH:/usr/sbin" command -v mariadbd)" \
	ASSAY_TEST_POSTGRES="$$(ls -v /usr/lib/postgresql/*/bin/postgres | tail -n 1)" \
	ASSAY_TEST_INFLUXD="$$(.ci/influxd $(INFLUXDB))" \
	ASSAY_GARBD="$$(.ci/program garbd galera-arbitrator-4 $(CACHE)/garbd)" \
	ASSAY_HAPROXY="$$(.ci/program haproxy haproxy $(CACHE)/haproxy)" \
	ASSAY_TEST_PGBOUNCER="$$(.ci/program pgbouncer pgbouncer $(CACHE)/pgbouncer)" \
	ASSAY_TEST_PGPOOL="$$(.ci/program pgpool pgpool2 $(CACHE)/pgpool)" \
	ASSAY_TEST_CHROMIUM="$$(command -v chromium || command -v google-chrome)"
# The packages that have tests on real servers (tag live), those that take longest first.
LIVE = $(shell printf '%s\n' ./internal/run ./cmd/assay ./internal/observe/collect/mysql $$(grep -rl --include='*_test.go' '^//go:build live$$' . | xargs dirname) | awk '!seen[$$0]++')
LONG = $(shell grep -rl --include='*_test.go' '^//go:build long$$' ./internal ./lab ./cmd | xargs dirname | sort -u)
# The other packages.
PURE = $(shell $(GO) list $(ALL) | grep -vxF $(LIVE:./%=-e assay.dev/assay/%))
# Live tests wait for the CPUs that they declare (package budget): how many packages and
# tests begin at a time does not matter. All are compiled before the first one runs, and
# linked with what the tests leave of the CPUs: eight linkers stop a single one for seconds.
# The tests of the other packages use no clock, and run on what is left as well.
LIVEFLAGS := -toolexec 'nice -n 19' -count=1 -vet=off -p 8 -parallel 100 -artifacts -outputdir "$(CURDIR)/$(CACHE)/failed"
KEPT = rm -rf $(CACHE)/failed && mkdir -p $(CACHE)/failed

# Some tests wait: more of them than there are CPUs run at a time.
CHECK := $(GO) test -vet=off -p 4

.PHONY: check
check: ## Run the tests that need no server and no clock (about 70 seconds, two cores; 3 minutes more to compile them the first time)
	$(CHECK) $(TESTFLAGS) $(ALL)

FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: ## Run every fuzz target of CONTRIBUTING.md's list for FUZZTIME=60s
	@sed -n 's/^|.*| `\(internal[^`]*\|lab[^`]*\)` `\(Fuzz[^`]*\)` |$$/\1 \2/p' CONTRIBUTING.md | while read -r package target; do \
		echo "$$package $$target" && $(GO) test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10s $(TESTFLAGS) "./$$package" </dev/null || exit 1; \
	done

.PHONY: test
test: ## Set up what is missing, and run all tests but the long ones, on real servers (about 11 minutes, two cores, of which 5 compile them the first time)
	.ci/install test
	@$(KEPT)
	@$(COMPILE) list -export -test -deps -tags live $(ALL) >/dev/null
	@$(BUILDLAB)
	@$(MAKE) --no-print-directory -k -j 2 live pure; status=$$?; cat $(CACHE)/pure.txt; exit $$status

.PHONY: live pure
live:
	@$(SERVERS) $(GO) test -tags live $(LIVEFLAGS) -timeout 60m $(TESTFLAGS) $(LIVE)
pure:
	@nice -n 19 $(CHECK) $(TESTFLAGS) $(PURE) >$(CACHE)/pure.txt 2>&1

.PHONY: long
long: ## Run the tests that take minutes each, and those of verdicts on live systems
	.ci/install test
	@$(KEPT)
	@$(BUILDLAB)
	@$(SERVERS) $(GO) test -tags live,long $(LIVEFLAGS) -p 1 -timeout 90m -run '^TestLong' $(TESTFLAGS) $(LONG)

# Two halves of about the same length, side by side, each cluster in namespaces of its
# own. They mostly wait. The tests are compiled once, before and outside of these namespaces.
KUBERNETES_TEST := test -count=1 -vet=off -tags live,long -p 1 -parallel 8 -timeout 30m
KUBERNETES_PACKAGES := ./internal/testing/clustertest ./internal/trial/incluster

.PHONY: test-kubernetes
test-kubernetes: ## Run the tests on a real Kubernetes cluster and the k6-operator (root; about 4 minutes, two cores; 6 more to build Kubernetes the first time)
	.ci/install certify
	.ci/kubernetes $(CACHE)/kubernetes
	$(MAKE) --no-print-directory build
	@$(COMPILE) list -export -test -deps -tags live,long $(KUBERNETES_PACKAGES) >/dev/null
	@export ASSAY_TEST_MARIADBD="$$(PATH="$$PATH:/usr/sbin" command -v mariadbd)" ASSAY_TEST_ASSAY="$(CURDIR)/$(BIN)" ASSAY_LAB="$(CURDIR)/bin/assay-lab"; \
	half() { $(GO) $(KUBERNETES_TEST) -exec "'$(CURDIR)/.ci/cluster'" $(TESTFLAGS) "$$@"; }; \
	half -run '^TestKubernetes$$' ./internal/trial/incluster & first=$$!; \
	half -run '^TestCluster$$|^TestKubernetesGuide$$' $(KUBERNETES_PACKAGES); second=$$?; \
	wait $$first && exit $$second

.PHONY: exam
exam: ## Check the diagnosis of all injected faults, on MySQL and MariaDB (EXAMFLAGS=-update stores the records; about 12 minutes)
	.ci/install test
	@$(SERVERS) $(GO) test -count=1 -tags live,long -timeout 60m -v -run '^TestAll' ./lab/exam $(EXAMFLAGS)

.PHONY: cosign
cosign: ## Verify assay's signatures with cosign, which is built first if it is missing (about 3 minutes)
	.ci/install test
	@$(BUILDLAB)
	@$(SERVERS) ASSAY_TEST_COSIGN="$$(.ci/cosign $(COSIGN))" \
	$(GO) test -count=1 -tags live,long -timeout 10m -run '^TestCosign' $(TESTFLAGS) ./internal/signature ./cmd/assay

.PHONY: linter
linter:
	@GOBIN="$(CURDIR)/$(CACHE)" $(COMPILE) install $(GOLANGCI)

.PHONY: lint
lint: linter ## golangci-lint: go vet, staticcheck and others, and the form of gofumpt (.golangci.yml)
	$(LINTER) run $(ALL)

.PHONY: fmt
fmt: linter ## Format with gofumpt
	$(LINTER) fmt cmd internal lab *.go

.PHONY: calibrate
calibrate: ## Repeat all simulated runs of docs/calibration.md, and compare (CALIBRATEFLAGS=-update writes the file; about 8 minutes, two cores)
	$(GO) test -count=1 -timeout 90m -run 'Calibration|Power' ./internal/judge/stats -calibrate $(CALIBRATEFLAGS)
	$(GO) test -count=1 -timeout 30m -run Calibration ./internal/judge/verdict -calibrate $(CALIBRATEFLAGS)
	$(GO) test -count=1 -timeout 30m -run Matrix ./internal/judge/verdict -calibrate
	$(GO) test -count=1 -timeout 30m -run 'False|Coverage|Power' ./internal/judge/stats/effect -calibrate

# Runs a part and notes in CI that it has passed.
part-%:
	@TESTFLAGS="$(TESTFLAGS)" .ci/part $*

.PHONY: soak
soak: ## Check that 100 runs in a row leak no resources (about 12 minutes)
	.ci/install test
	@mariadbd=$$(PATH="$$PATH:/usr/sbin" command -v mariadbd) && \
	ASSAY_TEST_MARIADBD="$$mariadbd" \
	$(GO) test -count=1 -tags live,long -timeout 40m -v -run '^TestLongSoak(OfFleets)?$$' ./internal/run -soak $(SOAK_RUNS)

.PHONY: bench
bench: build ## Measure judging, generator and coordinator, as ratios of interleaved runs (two cores)
	$(BUILD) -o bin/bench ./lab/bench
	bin/bench -assay $(BIN) $(BENCHFLAGS)

.PHONY: notices
notices: ## Write the notices of the third-party code that bin/assay links to bin/notices.txt; fails if a module has no licence file
	mkdir -p bin
	GO="$(GO)" .ci/notices ./cmd/assay >bin/notices.txt || { rm -f bin/notices.txt; exit 1; }

.PHONY: image
image: build notices ## Build the container image assay:local
	sh docker/setup.sh
	docker build --tag assay:local .

.PHONY: up
up: image ## Start MySQL, InfluxDB, Grafana and the reference service in containers (Docker Compose)
	$(COMPOSE) up --detach --wait
	@echo "Grafana: http://127.0.0.1:3000, user admin, password: ASSAY_GRAFANA_PASSWORD in .env"
	@echo "certify: $(COMPOSE) run --rm assay certify payment"

.PHONY: down
down: ## Stop the containers and keep their data (docker compose down -v deletes it)
	$(COMPOSE) down

.PHONY: clean
clean: ## Stop the local stack; remove its data, builds and caches
	test ! -e .assay/stack.json || $(GO) run ./lab/cmd/assay-lab stack down
	rm -rf bin .assay $(CACHE)
