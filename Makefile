# Build, test and release targets. `make` lists them.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
SCRATCH ?= .build
export SWIFT SCRATCH

# The one configuration of `make build`, installations, packages and benchmarks. The standard library is linked
# statically, so that programs run without a Swift toolchain. A build has the same bytes in every folder: paths of
# sources are mapped; debug information and the hashes of incremental code generation, which cannot be, are left out.
RELEASE_FLAGS = -c release --static-swift-stdlib --scratch-path $(SCRATCH) --disable-local-rpath \
	-debug-info-format none -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen \
	-Xswiftc -file-prefix-map -Xswiftc "$(CURDIR)=." -Xcc "-ffile-prefix-map=$(CURDIR)=." \
	-Xlinker -z -Xlinker now
RELEASE = $(SWIFT) build $(RELEASE_FLAGS)
# Warnings are errors. With STRICT=1 the tests use this build too, so that CI builds once.
# Only editors use the index; without it a build takes a third less time. The packages of the examples and of the views
# are built into the same folder, so that only their own sources are compiled.
STRICT_FLAGS = --scratch-path $(SCRATCH)/strict --disable-index-store -Xswiftc -warnings-as-errors -Xcc -Werror
DEBUG_FLAGS = --scratch-path $(SCRATCH) --disable-index-store
# Built in half the time of a release. The demo uses it; what touches pixels is optimised in it too.
DEBUG = $(SWIFT) build $(DEBUG_FLAGS)
TEST_FLAGS = $(if $(STRICT),$(STRICT_FLAGS),$(DEBUG_FLAGS))
# SwiftPM reuses the last build plan of a folder, even another package's, until a manifest is newer.
PLAN = touch Package.swift Benchmarks/Package.swift Examples/Package.swift Fuzzing/Package.swift GTK/Package.swift
SANITIZE_FLAGS = --disable-index-store --scratch-path $(SCRATCH)/$(1) --sanitize $(1)

# Without this limit, socket tests wait for a thread behind hundreds of others until their timeouts expire.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 4
RUN_TESTS = Scripts/run-tests.sh
# A step prints one line; its output goes to $(SCRATCH)/logs. VERBOSE=1 shows it.
STEP = Scripts/step.sh
# The folder of the programs that the tests are built with.
BIN = "$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))"

SWIFT_SOURCES = $(wildcard Package.swift Sources Tests Benchmarks Examples Fuzzing GTK)

.DEFAULT_GOAL := help
# All targets.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(MAKEFILE_LIST))

help: ## list the targets
	@echo "Inflight: every URL in flight once."
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) \
		| while IFS='|' read -r target text; do printf '%-25s %s\n' "$$target" "$$text"; done

deps: ## install missing system packages with apt-get
	@Scripts/deps.sh build vips test

demo: ## load images from a local server into demo-out/
	@Scripts/deps.sh build
	@$(PLAN)
	@$(STEP) "Building the command" $(DEBUG) --product inflight
	@$(STEP) "Building the lab" $(DEBUG) --product inflight-lab
	@$(STEP) "Building the server of the demo" $(DEBUG) --product inflight-demo
	@Scripts/demo.sh "$(SCRATCH)/debug"

build: deps ## build the release
	@$(PLAN)
	@$(STEP) "Building the release" $(RELEASE)

test: deps ## run all tests
	@$(PLAN)
	@$(STEP) "Building the tests" $(SWIFT) build --build-tests $(TEST_FLAGS)
	@SUMMARY='Test run with' $(STEP) "Tests" $(RUN_TESTS) --skip-build $(TEST_FLAGS)
	@$(STEP) "Contract: 2,000 simulated schedules" $(BIN)/inflight-simulate --count 2000
	@$(STEP) "Disk cache: 50 kills of one process" $(BIN)/inflight-crash --count 50
	@$(STEP) "Disk cache: 40 kills of one of eight processes" $(BIN)/inflight-crash --count 40 --processes 8
	@$(STEP) "Disk cache: 40 damaged caches" $(BIN)/inflight-crash --damage 40
	@$(STEP) "Bulk downloads: kills, faulty servers, two requests to each host" env INFLIGHT=$(BIN)/inflight \
		Scripts/batch-stress.py --scale 0.01 --part kills --part faults --part hosts
	@$(STEP) "Examples: their output, and a core without C libraries" Scripts/check-examples.sh $(TEST_FLAGS)
	@$(STEP) "Tests of the scripts" env INFLIGHT=$(BIN)/inflight python3 -m unittest discover -q -s Scripts/Tests

test-report: deps ## test the get --report page in headless Chromium (installs Chromium)
	@Scripts/deps.sh report
	@$(PLAN)
	@$(STEP) "The --report page in Chromium, and archives of --har" Scripts/test-report.sh $(TEST_FLAGS)

BUILD_COMMAND = $(PLAN) && $(SWIFT) build --product inflight $(TEST_FLAGS)
BUILT_COMMAND = INFLIGHT="$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight"
test-har: deps ## read a get --har archive with a Python package (downloads it)
	@Scripts/deps.sh report nightly
	@echo "==> archive of --har, read by haralyzer"
	@$(BUILD_COMMAND)
	@$(BUILT_COMMAND) Scripts/test-har.py

test-trace: deps ## read a get --trace file with Perfetto in headless Chromium (downloads it)
	@Scripts/deps.sh report nightly
	@echo "==> trace of --trace, read by Perfetto"
	@$(BUILD_COMMAND)
	@$(BUILT_COMMAND) Scripts/test-trace.py

test-dataset: deps ## read the output of inflight batch with Python packages (downloads them)
	@Scripts/deps.sh nightly
	@echo "==> output of inflight batch, read by webdataset, datasets, pyarrow and duckdb"
	@$(BUILD_COMMAND)
	@$(BUILT_COMMAND) Scripts/test-dataset.py $(SCRATCH)/dataset

test-img2dataset: deps ## compare inflight batch with img2dataset row by row (downloads it)
	@Scripts/deps.sh nightly
	@echo "==> inflight batch and img2dataset, 170 kinds of behaviour of servers"
	@$(BUILD_COMMAND)
	@$(BUILT_COMMAND) Scripts/test-img2dataset.py $(SCRATCH)/img2dataset

# The Python package. Its engines are downloads of several hundred megabytes, so only `test-python` is in the CI.
PYTHON_TESTS = env PYTHONDONTWRITEBYTECODE=1 INFLIGHT=$(BIN)/inflight
# moto's server with S3 only, which is a third of the whole.
# That boto3 fits s3fs's botocore is said at once, because pip would try one version after another for a minute.
STORE_PACKAGES = 'moto[s3]' aiobotocore flask flask-cors gcp-storage-emulator
STORE_ENV = env VENV=venv-stores Scripts/python-env.sh parquet,s3fs,gcsfs $(STORE_PACKAGES)
READER_PACKAGES = webdataset datasets duckdb pillow
test-python: deps ## test the Python package with Python's standard library, and with emulators of stores (downloads them)
	@Scripts/deps.sh nightly
	@$(PLAN)
	@$(STEP) "Building the command" $(SWIFT) build --product inflight $(TEST_FLAGS)
	@$(STEP) "Python package" $(PYTHON_TESTS) PYTHONPATH="$(CURDIR)/Python" \
		python3 -m unittest discover -q -s Python/Tests
	@$(STEP) "Installing the package and emulators of object stores" $(STORE_ENV)
	@$(STEP) "Python package on object stores" $(PYTHON_TESTS) PYTHONPATH="$(CURDIR)/Python/Tests" \
		$(SCRATCH)/venv-stores/bin/python -m unittest discover -q -s Python/Tests/Stores
	@$(STEP) "OpenMetrics text, read by prometheus_client" $(PYTHON_TESTS) \
		$(SCRATCH)/venv-stores/bin/python -m unittest discover -q -s Scripts/Tests -p test_openmetrics.py

test-parquet: deps ## install pyarrow and tfrecord, and test the Python package with Parquet and TFRecord
	@Scripts/deps.sh nightly
	@$(PLAN)
	@$(STEP) "Building the command" $(SWIFT) build --product inflight $(TEST_FLAGS)
	@$(STEP) "Installing the package and pyarrow" Scripts/python-env.sh parquet,tfrecord tfrecord
	@$(STEP) "Python package with pyarrow" $(PYTHON_TESTS) PYTHONPATH="$(CURDIR)/Python" \
		$(SCRATCH)/venv/bin/python -m unittest discover -q -s Python/Tests

test-spark: deps ## install the Python package with Spark (435 MB), and test it on two executors
	@Scripts/deps.sh nightly spark
	@$(PLAN)
	@$(STEP) "Building the command" $(SWIFT) build --product inflight $(TEST_FLAGS)
	@$(STEP) "Installing the package and Spark" Scripts/python-env.sh spark,s3fs $(STORE_PACKAGES)
	@$(STEP) "Python package on Spark" $(PYTHON_TESTS) PYTHONPATH="$(CURDIR)/Python/Tests" \
		$(SCRATCH)/venv/bin/python -m unittest discover -q -s Python/Tests/Spark

test-ray: deps ## install the Python package with Ray, and test it on two nodes
	@Scripts/deps.sh nightly
	@$(PLAN)
	@$(STEP) "Building the command" $(SWIFT) build --product inflight $(TEST_FLAGS)
	@$(STEP) "Installing the package and Ray" Scripts/python-env.sh ray,s3fs $(STORE_PACKAGES)
	@$(STEP) "Python package on Ray" $(PYTHON_TESTS) PYTHONPATH="$(CURDIR)/Python/Tests" \
		$(SCRATCH)/venv/bin/python -m unittest discover -q -s Python/Tests/Ray

RACES ?= 200
KILLS ?= 200
test-object-stores: deps ## test datasets in radosgw, with races of two drivers and kills of uploads: RACES=200 KILLS=200
	@Scripts/deps.sh nightly stores
	@$(PLAN)
	@$(STEP) "Building the command" $(SWIFT) build --product inflight $(TEST_FLAGS)
	@$(STEP) "Installing the package, emulators of object stores and readers" $(STORE_ENV) $(READER_PACKAGES)
	@$(STEP) "webdataset, datasets and DuckDB on an object store" $(PYTHON_TESTS) \
		$(SCRATCH)/venv-stores/bin/python -m unittest discover -q -s Python/Tests/Readers
	@echo "==> radosgw, $(RACES) races, $(KILLS) kills"
	@$(PYTHON_TESTS) RACES=$(RACES) KILLS=$(KILLS) PYTHONPATH="$(CURDIR)/Python/Tests" \
		$(SCRATCH)/venv-stores/bin/python -m unittest discover -q -s Python/Tests/ObjectStores

ROWS ?= 5000
cluster-stress: deps ## write datasets while tasks, executors, nodes and commands are killed: ROWS=5000
	@Scripts/deps.sh nightly spark
	@$(PLAN)
	@$(STEP) "Building the command" $(SWIFT) build --product inflight $(TEST_FLAGS)
	@$(STEP) "Installing the package and its engines" Scripts/python-env.sh spark,ray,s3fs $(STORE_PACKAGES)
	@echo "==> $(ROWS) rows on Spark and on Ray, in a folder and in a store, with kills"
	@$(PYTHON_TESTS) $(SCRATCH)/venv/bin/python Python/Tests/stress.py $(ROWS)

docs: deps ## build the documentation site into .build/docs: BASE=/ (path on the server)
	@Scripts/deps.sh gtk
	@$(PLAN)
	@$(STEP) "Documentation site" Scripts/docs.py $(SCRATCH)/docs $(TEST_FLAGS)
	@$(STEP) "Swift code of the articles" Scripts/check-snippets.py $(TEST_FLAGS)

test-docs: docs ## test the site in headless Chromium at two widths, light and dark
	@Scripts/deps.sh report
	@$(STEP) "Documentation site in Chromium" env PYTHONDONTWRITEBYTECODE=1 INFLIGHT_SITE=$(SCRATCH)/docs \
		python3 -m unittest discover -q -s Tests/Site

install: build ## install the command, man pages and completions: PREFIX=/usr/local DESTDIR=
	@echo "==> install into $(DESTDIR)$(PREFIX)"
	@Scripts/install.sh "$$($(RELEASE) --show-bin-path)" "$(DESTDIR)$(PREFIX)"

lint: deps ## check format, files, imports, names and mutants; build without warnings
	@$(STEP) "Format" $(SWIFT) format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	@$(STEP) "Files" Scripts/check-files.py
	@$(STEP) "Imports" Scripts/check-imports.py
	@$(STEP) "Public names" Scripts/public-names.py --check
	@$(STEP) "Mutants: each replaced text occurs once" Scripts/mutants.py --check
	@$(PLAN)
	@$(STEP) "Building with warnings as errors" $(SWIFT) build --build-tests $(STRICT_FLAGS)
	@$(PLAN)
	@$(STEP) "Building the benchmarks" $(SWIFT) build --package-path Benchmarks $(STRICT_FLAGS)
	@$(PLAN)
	@$(STEP) "Compiling the fuzz targets" $(SWIFT) build --package-path Fuzzing --target InflightFuzz $(STRICT_FLAGS)

# Each sanitizer runs the tests in which it can find faults, and its build leaves out targets without any. The thread
# sanitizer: tests of concurrent code, not of pixels, the simulator, tables of rows and hosts, the rules of HTTP one
# load at a time, and the disk cache after every possible fault, which use one thread. The address sanitizer: those of
# code that calls C or accesses memory directly. What is pure Swift is left out: the kit, the patterns and the
# verification programs. So are the tests of the engine alone: those of libcurl, the disk cache and the library run its
# code too, and the fuzz targets its parsers. The code of bulk downloads runs in the command.
#
# The command's tests are not built with a sanitizer. Those that run the command run the one that is.
PROGRAMS_LEFT_OUT = CLITests Crash Demo DemoTests Lab LabTests Simulate
THREAD_LEFT_OUT = env INFLIGHT_LEFT_OUT='$(PROGRAMS_LEFT_OUT) CodecsTests CodingsTests FuzzTests VipsTests \
	BatchTests/Hosts BatchTests/Output CoreTests/HTTP CoreTests/Values DiskTests/Damage \
	ImagesTests/Placeholders ImagesTests/Processing TestSupportTests/Simulator'
THREAD_TESTS = --filter '^Inflight(Concurrency|Core|Curl|Disk|Foundation|Patterns|Stress|TestSupport|Worker)?Tests\.' \
	--filter '^InflightImagesTests\.(Animated|Frame)'
BATCH_THREAD_TESTS = --filter '^InflightBatchTests\.(Batch\w*|HandOver|Input(Error|Reader)|Journal\w*)Tests/' \
	--filter '^InflightBatchTests\.(Row(Source|Store)|StreamRun)Tests/'
COMMAND_THREAD_TESTS = --filter '^InflightCLITests\.(Termination|HAR|Network|OutputFile|Unavailable)Tests/'
ADDRESS_LEFT_OUT = env INFLIGHT_LEFT_OUT='$(PROGRAMS_LEFT_OUT) BatchTests ConcurrencyTests CoreTests PatternsTests \
	Stress StressTests TestSupportTests'
ADDRESS_TESTS = --skip '^InflightDiskTests\.(Failing|DamageTests/foreignLogAndFault)'
COMMAND_ADDRESS_TESTS = --filter '^InflightCLITests\.Batch(Box|Command|Filter|List|Raw|StandardInput|Then)Tests/' \
	--filter '^InflightCLITests\.(BadInput|Cache\w*|FirstVersion|Formats|HAR|Info|Network|Output(File|Folder))Tests/' \
	--filter '^InflightCLITests\.(Page|Preview|Reencoding|RejectedBody|ServerFault|Show\w*|Termina\w*)Tests/' \
	--filter '^InflightCLITests\.(Trace|Unavailable|Update)Tests/'
COMMAND_TESTS = env INFLIGHT_SANITIZED_PROGRAMS="$(abspath $(SCRATCH))/$(1)/debug" \
	$(RUN_TESTS) --skip-build $(TEST_FLAGS)

sanitize: sanitize-build ## run tests under the thread and the address sanitizer
	@SUMMARY='Test run with' $(STEP) "Tests under the thread sanitizer" \
		$(THREAD_LEFT_OUT) $(RUN_TESTS) --skip-build $(call SANITIZE_FLAGS,thread) $(THREAD_TESTS)
	@SUMMARY='Test run with' $(STEP) "Bulk downloads under the thread sanitizer" \
		$(THREAD_LEFT_OUT) $(RUN_TESTS) --skip-build $(call SANITIZE_FLAGS,thread) $(BATCH_THREAD_TESTS)
	@LSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/leaks.txt $${LSAN_OPTIONS:-}" \
		SUMMARY='Test run with' $(STEP) "Tests under the address sanitizer" \
		$(ADDRESS_LEFT_OUT) $(RUN_TESTS) --skip-build $(call SANITIZE_FLAGS,address) $(ADDRESS_TESTS)
	@$(PLAN)
	@$(STEP) "Building the tests of the command" $(SWIFT) build --build-tests $(TEST_FLAGS)
	@SUMMARY='Test run with' $(STEP) "The command under the thread sanitizer" \
		$(call COMMAND_TESTS,thread) $(COMMAND_THREAD_TESTS)
	@SUMMARY='Test run with' $(STEP) "The command under the address sanitizer" \
		$(call COMMAND_TESTS,address) $(COMMAND_ADDRESS_TESTS)

sanitize-build: deps
	@$(PLAN)
	@$(STEP) "Building with the thread sanitizer" \
		$(THREAD_LEFT_OUT) $(SWIFT) build --build-tests $(call SANITIZE_FLAGS,thread)
	@$(STEP) "Building with the address sanitizer" \
		$(ADDRESS_LEFT_OUT) $(SWIFT) build --build-tests $(call SANITIZE_FLAGS,address)

lab-tsan: deps ## check that the thread sanitizer finds the race of inflight lab
	@echo "==> inflight lab race under the thread sanitizer"
	@Scripts/lab-tsan.sh

# An optimised build releases objects as early as the shipped one, and runs more operations in the same time.
STRESS_BUILD = $(SWIFT) build -c release --sanitize thread --product inflight-stress --scratch-path $(SCRATCH)/stress
STRESS = $(SCRATCH)/stress/release/inflight-stress --seed $(SEED)
MINUTES ?= 5
SEED ?= 1
stress: deps ## run 16 threads of random operations under TSan: MINUTES=5 SEED=1
	@echo "==> stress"
	@$(STRESS_BUILD)
	@$(STRESS) --minutes $(MINUTES)
	@echo "==> stress over libcurl and real sockets"
	@$(STRESS) --operations 50000 --sockets

N ?= 100000
simulate: deps ## run N schedules of the simulator on all cores: N=100000
	@echo "==> $(N) schedules"
	@$(PLAN)
	@$(RELEASE) --product inflight-simulate
	@"$$($(RELEASE) --show-bin-path)/inflight-simulate" --count $(N)

# 2,000 kills unless N is set by the caller; the default of N above is for `simulate`.
crash: KILLS = $(if $(filter file,$(origin N)),2000,$(N))
crash: deps ## check disk caches after N kills, and 1,000 damaged caches: N=2000
	@echo "==> $(KILLS) kills"
	@$(PLAN)
	@$(RELEASE) --product inflight-crash
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --count $(KILLS)
	@echo "==> a tenth as many kills, each of one of eight processes"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --count $$((($(KILLS) + 9) / 10)) --processes 8
	@echo "==> 1,000 damaged caches"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --damage 1000
	@echo "==> eight processes with kills on one folder for a minute"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --seconds 60 --processes 8

SCALE ?= 1
batch-stress: deps ## kill inflight batch 1,000 times; 10,000,000 rows; slow and faulty servers; 1,000 hosts; streams: SCALE=1 PARTS=
	@echo "==> inflight batch under kills and faults, scale $(SCALE)"
	@$(PLAN)
	@$(RELEASE) --product inflight
	@INFLIGHT="$$($(RELEASE) --show-bin-path)/inflight" Scripts/batch-stress.py --scale $(SCALE) \
		$(patsubst %,--part %,$(PARTS))

# The processor time of each target, in seconds. Targets run one after another.
SECONDS ?= 60
TARGETS ?=
fuzz: deps ## fuzz each parser for SECONDS of processor time: SECONDS=60 TARGETS=
	@echo "==> fuzzing, $(SECONDS) s of processor time per target"
	@Scripts/fuzz.py $(SCRATCH)/fuzz $(SECONDS) $(TARGETS)

simulator-coverage: deps ## show which code of the engine the simulator reaches
	@echo "==> simulator coverage"
	@$(PLAN)
	@Scripts/simulator-coverage.py $(SCRATCH)/coverage

path: deps ## list the functions that one image load calls, by stage
	@echo "==> path of one load"
	@$(PLAN)
	@Scripts/request-path.py $(SCRATCH)/coverage

MUTANTS ?=
mutation-test: deps ## check that the suites find the mutants: MUTANTS="engine two-endings"
	@Scripts/deps.sh gtk
	@echo "==> mutants"
	@Scripts/mutants.py $(SCRATCH)/mutants $(MUTANTS)

# One of each table of the simulator.
FEW_MUTANTS = awaiting-caller-hears-no-cancel budget-forgets-who-waits 304-changes-nothing-stored late-answer-lands
mutation-test-few: deps ## check in this folder that the simulator finds four mutants, for CI
	@$(PLAN)
	@$(STEP) "Four mutants" Scripts/mutants.py --in-place $(FEW_MUTANTS) -- $(TEST_FLAGS)

bench: deps build ## run the benchmarks against peers
	@Scripts/deps.sh bench
	@echo "==> benchmarks"
	@Scripts/bench.sh

SUITE ?=
cache-suite: deps ## run the public suite for HTTP caches: SUITE=FOLDER (a checkout of http-tests/cache-tests)
	@Scripts/deps.sh report
	@$(PLAN)
	@$(STEP) "Building the suite's client" $(SWIFT) build --package-path Benchmarks --product CacheSuite $(TEST_FLAGS)
	@node Benchmarks/cache-suite.mjs "$(SUITE)" $(BIN)/CacheSuite

# The views are a separate package and need a display: Xvfb, with software rendering.
GTK_FLAGS = --package-path GTK $(TEST_FLAGS)
GTK_BIN = "$$($(SWIFT) build --show-bin-path $(GTK_FLAGS))"
GTK_DISPLAY = env GSK_RENDERER=cairo NO_AT_BRIDGE=1 xvfb-run -a -s "-screen 0 1280x1024x24"
test-gtk: deps ## test the GTK 4 views on a virtual display
	@Scripts/deps.sh gtk
	@$(PLAN)
	@SUMMARY='Test run with' $(STEP) "Unit tests of the views" $(RUN_TESTS) $(GTK_FLAGS)
	@$(STEP) "Views on a virtual display" $(GTK_DISPLAY) $(GTK_BIN)/GTKChecks

# Built into the folder of `sanitize`. The checks that pass work to the main thread. The fast-scrolling grid is left
# out, because the sanitizer slows its server down so much that hardly any image arrives in time.
sanitize-gtk: deps ## run the views' bridge and bindings under the thread sanitizer
	@Scripts/deps.sh gtk
	@$(PLAN)
	@$(STEP) "Building the views with the thread sanitizer" $(SWIFT) build --package-path GTK --product GTKChecks \
		$(call SANITIZE_FLAGS,thread)
	@$(STEP) "Views under the thread sanitizer" $(GTK_DISPLAY) $(SCRATCH)/thread/debug/GTKChecks main idle texture \
		"in any order" placeholder moves larger blur "left the screen" "far away" again

gallery: deps build ## show images in a window: URLS=file (default: the demo's images)
	@Scripts/deps.sh gtk
	@echo "==> inflight-gallery"
	@Scripts/gallery.sh $(URLS)

# Built into the folder of the release, so that only the views are compiled.
install-gallery: deps ## install the gallery, its icon and menu entry: PREFIX=/usr/local DESTDIR=
	@Scripts/deps.sh gtk
	@echo "==> install into $(DESTDIR)$(PREFIX)"
	@Scripts/install-gallery.sh "$(DESTDIR)$(PREFIX)" $(RELEASE_FLAGS)

deb: build ## build the Debian packages into .build/deb: DEB_VERSION= for another version
	@Scripts/deps.sh gtk deb
	@echo "==> Debian packages"
	@Scripts/deb.sh "$(SCRATCH)/deb" $(DEB_VERSION)

release: deps ## check everything (CHECKED=1: CI has), and build the files of a release into .build/release-files
	@Scripts/deps.sh gtk deb
	@echo "==> release"
	@Scripts/release.sh --check
	@$(if $(CHECKED),,.ci/run)
	@$(MAKE) --no-print-directory release-files

release-files: build ## build the files of a release without checks, also of changes that are not released
	@Scripts/deps.sh gtk deb
	@Scripts/release.sh "$(SCRATCH)/release-files" "$$($(RELEASE) --show-bin-path)"

release-twice: ## build the files of a release in two other folders, and compare their bytes
	@echo "==> two releases"
	@Scripts/check-reproducible.sh

test-packages: deb ## install, use, upgrade and purge the packages in a minimal Debian 12 (as root)
	@Scripts/deps.sh packages
	@echo "==> Debian packages in a minimal system"
	@Scripts/deb.sh "$(SCRATCH)/deb-newer" "$$(Scripts/release.sh --version)+test1"
	@Scripts/test-packages.py "$(SCRATCH)/deb" "$(SCRATCH)/deb-newer"

gallery-stress: deps ## bind a million rows in a fast-scrolling grid: BINDS=1000000
	@Scripts/deps.sh gtk
	@echo "==> $(BINDS) binds"
	@$(PLAN)
	@$(RELEASE) --package-path GTK --product GTKChecks
	@$(GTK_DISPLAY) $(SCRATCH)/release/GTKChecks "no cell" --binds $(BINDS)
	@echo "==> frames of the installed gallery"
	@Scripts/install-gallery.sh "$(SCRATCH)/gallery" $(RELEASE_FLAGS)
	@$(GTK_DISPLAY) $(SCRATCH)/release/GTKChecks "the gallery" --binds $(BINDS) \
		--gallery $(SCRATCH)/gallery/bin/inflight-gallery
BINDS ?= 1000000

screenshots: deps build ## update .build/screenshots and Documentation's sheets
	@Scripts/deps.sh gtk report screenshots
	@echo "==> screenshots"
	@$(PLAN)
	@$(SWIFT) build -c release --package-path GTK --scratch-path $(SCRATCH)/gtk --product inflight-gallery
	@Scripts/screenshots.py "$$($(RELEASE) --show-bin-path)" $(SCRATCH)/gtk/release/inflight-gallery $(SCRATCH)/screenshots

# The simulator, kills, fuzzer, stress and mutants gate CI in a small form, as their faults are rare; lab-tsan and the
# mutants build everything again; test-har, test-trace, test-dataset, test-img2dataset, test-parquet, test-object-stores
# and the tests on clusters download packages; a release is built three times; test-packages needs root; batch-stress,
# cluster-stress and gallery-stress take minutes.
NIGHTLY = simulate crash batch-stress fuzz stress lab-tsan mutation-test simulator-coverage test-har test-trace \
	test-dataset test-img2dataset test-parquet test-spark test-ray test-object-stores cluster-stress release-twice \
	test-packages gallery-stress
nightly: deps ## run what is too long for CI, and list what failed
	@failed=; for target in $(NIGHTLY); do \
		echo "=== make $$target"; $(MAKE) --no-print-directory $$target || failed="$$failed $$target"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

clean: ## remove build products
	@echo "==> clean"
	@rm -rf $(SCRATCH) demo-out Benchmarks/.build Examples/.build Fuzzing/.build GTK/.build
