# Everything here works on a fresh Debian or Ubuntu machine with Go, without a
# Docker engine. `make help` lists the targets.

GO        ?= go
BIN       := bin/assay
CACHE     := .cache
MYSQL9    := $(CACHE)/mysql9
INFLUXDB  := $(CACHE)/influxdb
COSIGN    := $(CACHE)/cosign
# A build that knows its own source: the certificate names the revision.
BUILD     := $(GO) build -trimpath -buildvcs=auto
# Static, for every target: what runs here runs in an image of nothing else, and
# one build cache serves all.
export CGO_ENABLED := 0
COMPOSE   ?= docker compose
GOFUMPT   := mvdan.cc/gofumpt@v0.10.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.1
TEST_TIMEOUT := 25m
SOAK_RUNS := 100

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/assay
	$(BUILD) -o $(BIN) ./harness/cmd/assay

.PHONY: certify
certify: ## Set up what is missing, and certify payment and ingestion on the local stack
	.ci/install certify
	$(MAKE) --no-print-directory build
	@influxd=$$(.ci/influxd $(INFLUXDB)) || echo "without InfluxDB: runs are not seen while they go on" >&2; \
	set -x && ASSAY_INFLUXD="$$influxd" $(BIN) certify payment ingestion

.PHONY: test
test: ## Set up what is missing, and run all tests on real servers
	.ci/install test
	@mysqld=$$(.ci/mysql9 $(MYSQL9)) && mariadbd=$$(PATH="$$PATH:/usr/sbin" command -v mariadbd) && \
	influxd=$$(.ci/influxd $(INFLUXDB)) && cosign=$$(.ci/cosign $(COSIGN)) && \
	chromium=$$(command -v chromium || command -v google-chrome) && \
	postgres=$$(ls -v /usr/lib/postgresql/*/bin/postgres | tail -n 1) && \
	ASSAY_TEST_MYSQLD="$$mysqld" ASSAY_TEST_MARIADBD="$$mariadbd" ASSAY_TEST_INFLUXD="$$influxd" \
	ASSAY_TEST_COSIGN="$$cosign" ASSAY_TEST_CHROMIUM="$$chromium" ASSAY_TEST_POSTGRES="$$postgres" \
	$(GO) test -count=1 -p 1 -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./...

.PHONY: lint
lint: ## go vet, staticcheck, gofumpt
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@unformatted=$$($(GO) run $(GOFUMPT) -l harness) && test -z "$$unformatted" || { echo "run make fmt: $$unformatted"; exit 1; }

.PHONY: fmt
fmt: ## Format with gofumpt
	$(GO) run $(GOFUMPT) -w harness

.PHONY: calibrate
calibrate: ## Make all simulated runs behind docs/calibration.md, and compare it (CALIBRATEFLAGS=-update writes it; about 20 minutes, two cores)
	$(GO) test -count=1 -timeout 90m -run 'Calibration|Power' ./harness/judge/stats -calibrate $(CALIBRATEFLAGS)
	$(GO) test -count=1 -timeout 30m -run Calibration ./harness/judge/verdict -calibrate $(CALIBRATEFLAGS)

.PHONY: soak
soak: ## Make 100 runs in a row, and see that they leave nothing behind (about 12 minutes)
	.ci/install test
	@mariadbd=$$(PATH="$$PATH:/usr/sbin" command -v mariadbd) && \
	ASSAY_TEST_MARIADBD="$$mariadbd" \
	$(GO) test -count=1 -timeout 40m -v -run '^TestSoak$$' ./harness/run -soak $(SOAK_RUNS)

.PHONY: bench
bench: build ## Measure judging, collector and generator, as ratios of interleaved runs (about 35 minutes, two cores)
	.ci/install test
	$(GO) build -o bin/bench ./harness/lab/bench
	@mysqld=$$(.ci/mysql9 $(MYSQL9)) && mariadbd=$$(PATH="$$PATH:/usr/sbin" command -v mariadbd) && \
	bin/bench -assay $(BIN) -mysqld "$$mysqld" -mariadbd "$$mariadbd" $(BENCHFLAGS)

.PHONY: image
image: build ## Build the container image assay:local
	sh docker/setup.sh
	docker build --tag assay:local .

.PHONY: up
up: image ## Start MySQL, InfluxDB, Grafana and the reference service in containers (Docker Compose)
	$(COMPOSE) up --detach --wait
	@echo "Grafana: http://127.0.0.1:3000, user admin, password ASSAY_GRAFANA_PASSWORD of .env"
	@echo "certify: $(COMPOSE) run --rm assay certify payment"

.PHONY: down
down: ## Stop the containers; their data stays (docker compose down -v forgets it)
	$(COMPOSE) down

.PHONY: clean
clean: ## Stop the local stack; remove builds, its data and caches
	test ! -e .assay/stack.json || $(GO) run ./harness/cmd/assay stack down
	rm -rf bin .assay $(CACHE)
