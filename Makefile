# Build, test and release targets. `make` lists them.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
SCRATCH ?= .build
export SWIFT SCRATCH

# The release links the standard library statically, so that it runs without a Swift toolchain.
RELEASE = $(SWIFT) build -c release --static-swift-stdlib --scratch-path $(SCRATCH)
# Warnings are errors. With STRICT=1 the tests use this build too, so that CI builds once.
# Only editors use the index; without it a build takes a third less time. The packages of the examples and of the views
# are built into the same folder, so that only their own sources are compiled.
STRICT_FLAGS = --scratch-path $(SCRATCH)/strict --disable-index-store -Xswiftc -warnings-as-errors -Xcc -Werror
TEST_FLAGS = $(if $(STRICT),$(STRICT_FLAGS),--scratch-path $(SCRATCH) --disable-index-store)
# SwiftPM reuses the last build plan of a folder, even another package's, until a manifest is newer.
PLAN = touch Package.swift Examples/Package.swift GTK/Package.swift
SANITIZE_FLAGS = --disable-index-store --scratch-path $(SCRATCH)/$(1) --sanitize $(1)

# Without this limit, socket tests wait for a thread behind hundreds of others until their timeouts expire.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 4
RUN_TESTS = Scripts/run-tests.sh

SWIFT_SOURCES = $(wildcard Package.swift Sources Tests Benchmarks Examples Fuzzing GTK)

.DEFAULT_GOAL := help
.PHONY: help deps demo build test test-report test-har test-trace docs test-docs install lint sanitize stress lab-tsan \
	simulate crash fuzz simulator-coverage path mutation-test bench test-gtk gallery install-gallery gallery-stress sanitize-gtk screenshots clean

help: ## list the targets
	@echo "Inflight: every URL in flight once."
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) \
		| while IFS='|' read -r target text; do printf '%-25s %s\n' "$$target" "$$text"; done

deps: ## install missing system packages with apt-get
	@Scripts/deps.sh build test

demo: deps build ## load images from a local server into demo-out/
	@echo "==> demo"
	@Scripts/demo.sh

build: deps ## build the release
	@echo "==> release build"
	@$(RELEASE)

test: deps ## run all tests
	@echo "==> tests"
	@$(PLAN)
	@$(RUN_TESTS) $(TEST_FLAGS)
	@echo "==> disk cache: acknowledged entries survive kills"
	@"$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight-crash" --count 50
	@"$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight-crash" --count 40 --processes 8
	@echo "==> disk cache: damaged files"
	@"$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight-crash" --damage 40
	@echo "==> examples: expected output, and a core without C libraries"
	@Scripts/check-examples.sh $(TEST_FLAGS)
	@echo "==> tests of the scripts"
	@INFLIGHT="$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight" python3 -m unittest discover -q -s Scripts/Tests

test-report: deps ## test the get --report page in headless Chromium (installs Chromium)
	@Scripts/deps.sh report
	@echo "==> tests of the --report page in Chromium, and of archives of --har"
	@$(PLAN)
	@Scripts/test-report.sh $(TEST_FLAGS)

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

docs: deps ## build the documentation site into .build/docs: BASE=/ (path on the server)
	@Scripts/deps.sh gtk
	@echo "==> documentation site"
	@$(PLAN)
	@Scripts/docs.py $(SCRATCH)/docs $(TEST_FLAGS)
	@echo "==> Swift code of the articles"
	@Scripts/check-snippets.py $(TEST_FLAGS)

test-docs: docs ## test the site in headless Chromium at two widths, light and dark
	@Scripts/deps.sh report
	@echo "==> tests of the documentation site in Chromium"
	@PYTHONDONTWRITEBYTECODE=1 INFLIGHT_SITE=$(SCRATCH)/docs python3 -m unittest discover -q -s Tests/Site

install: build ## install the command, man pages and completions: PREFIX=/usr/local DESTDIR=
	@echo "==> install into $(DESTDIR)$(PREFIX)"
	@Scripts/install.sh "$$($(RELEASE) --show-bin-path)" "$(DESTDIR)$(PREFIX)"

lint: deps ## check format, files, imports, names and mutants; build without warnings
	@echo "==> format"
	@$(SWIFT) format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	@echo "==> files"
	@Scripts/check-files.py
	@echo "==> imports"
	@Scripts/check-imports.py
	@echo "==> public names"
	@Scripts/public-names.py --check
	@echo "==> mutants: each replaced text occurs once"
	@Scripts/mutants.py --check
	@echo "==> build with warnings as errors"
	@$(PLAN)
	@$(SWIFT) build --build-tests $(STRICT_FLAGS)

# Each sanitizer runs the tests in which it can find faults: the thread sanitizer those of concurrent code, the address
# sanitizer those of code that calls C or accesses memory directly. It skips the kit, the verification programs and text
# layout, which are pure Swift.
THREAD_TESTS = --filter '^Inflight(Concurrency|Images|Core|Curl|Disk|Foundation|Stress|TestSupport|Worker)?Tests\.' \
	--filter '^InflightCLITests\.(Ending|HAR|Network|Storing|Unavailable)Tests/'
ADDRESS_TESTS = --skip '^Inflight(Concurrency|Demo|Lab|Stress|TestSupport)Tests\.' \
	--skip '\.(GridLayout|HalfBlocks|TimelineText)Tests/'

# Foundation's URLSession leaks libcurl's parsed URL of each request (four allocations per request, also in a minimal
# program), so its tests run without leak detection.
sanitize: deps ## run tests under the thread and the address sanitizer
	@echo "==> tests under the thread sanitizer"
	@$(RUN_TESTS) $(call SANITIZE_FLAGS,thread) $(THREAD_TESTS)
	@echo "==> tests under the address sanitizer"
	@LSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/leaks.txt $${LSAN_OPTIONS:-}" \
		$(RUN_TESTS) $(call SANITIZE_FLAGS,address) $(ADDRESS_TESTS) --skip URLSession
	@echo "==> URLSession tests under the address sanitizer, without leak detection"
	@ASAN_OPTIONS=detect_leaks=0 $(RUN_TESTS) --skip-build $(call SANITIZE_FLAGS,address) --filter URLSession

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
	@$(RELEASE) --product inflight-simulate
	@"$$($(RELEASE) --show-bin-path)/inflight-simulate" --count $(N)

# 2,000 kills unless N is set by the caller; the default of N above is for `simulate`.
crash: KILLS = $(if $(filter file,$(origin N)),2000,$(N))
crash: deps ## check disk caches after N kills, and 1,000 damaged caches: N=2000
	@echo "==> $(KILLS) kills"
	@$(RELEASE) --product inflight-crash
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --count $(KILLS)
	@echo "==> a tenth as many kills, each of one of eight processes"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --count $$((($(KILLS) + 9) / 10)) --processes 8
	@echo "==> 1,000 damaged caches"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --damage 1000
	@echo "==> eight processes with kills on one folder for a minute"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --seconds 60 --processes 8

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

bench: deps build ## run the benchmarks against peers
	@Scripts/deps.sh bench
	@echo "==> benchmarks"
	@Scripts/bench.sh

# The views are a separate package and need a display: Xvfb, with software rendering.
GTK_FLAGS = --package-path GTK $(TEST_FLAGS)
GTK_DISPLAY = env GSK_RENDERER=cairo NO_AT_BRIDGE=1 xvfb-run -a -s "-screen 0 1280x1024x24"
test-gtk: deps ## test the GTK 4 views on a virtual display
	@Scripts/deps.sh gtk
	@echo "==> unit tests of the views"
	@$(PLAN)
	@$(RUN_TESTS) $(GTK_FLAGS)
	@echo "==> views on a virtual display"
	@$(GTK_DISPLAY) "$$($(SWIFT) build --show-bin-path $(GTK_FLAGS))/GTKChecks"

# The checks that pass work to the main thread. The fast-scrolling grid is left out, because the sanitizer slows its
# server down so much that hardly any image arrives in time.
sanitize-gtk: deps ## run the views' bridge and bindings under the thread sanitizer
	@Scripts/deps.sh gtk
	@echo "==> views under the thread sanitizer"
	@$(PLAN)
	@$(SWIFT) build -c release --sanitize thread --package-path GTK --scratch-path $(SCRATCH)/gtk-thread --product GTKChecks
	@$(GTK_DISPLAY) $(SCRATCH)/gtk-thread/release/GTKChecks main idle texture "in any order" placeholder moves larger blur \
		"left the screen" "far away" again

gallery: deps build ## show images in a window: URLS=file (default: the demo's images)
	@Scripts/deps.sh gtk
	@echo "==> inflight-gallery"
	@Scripts/gallery.sh $(URLS)

install-gallery: deps ## install the gallery, its icon and menu entry: PREFIX=/usr/local DESTDIR=
	@Scripts/deps.sh gtk
	@echo "==> install into $(DESTDIR)$(PREFIX)"
	@Scripts/install-gallery.sh "$(SCRATCH)/gtk" "$(DESTDIR)$(PREFIX)"

gallery-stress: deps ## bind a million rows in a fast-scrolling grid: BINDS=1000000
	@Scripts/deps.sh gtk
	@echo "==> $(BINDS) binds"
	@$(PLAN)
	@$(SWIFT) build -c release --static-swift-stdlib --package-path GTK --scratch-path $(SCRATCH)/gtk --product GTKChecks
	@$(GTK_DISPLAY) $(SCRATCH)/gtk/release/GTKChecks "no cell" --binds $(BINDS)
	@echo "==> frames of the installed gallery"
	@Scripts/install-gallery.sh "$(SCRATCH)/gtk" "$(SCRATCH)/gallery"
	@$(GTK_DISPLAY) $(SCRATCH)/gtk/release/GTKChecks "the gallery" --binds $(BINDS) --gallery $(SCRATCH)/gallery/bin/inflight-gallery
BINDS ?= 1000000

screenshots: deps build ## update .build/screenshots and Documentation's sheets
	@Scripts/deps.sh gtk report screenshots
	@echo "==> screenshots"
	@$(PLAN)
	@$(SWIFT) build -c release --package-path GTK --scratch-path $(SCRATCH)/gtk --product inflight-gallery
	@Scripts/screenshots.py "$$($(RELEASE) --show-bin-path)" $(SCRATCH)/gtk/release/inflight-gallery $(SCRATCH)/screenshots

clean: ## remove build products
	@echo "==> clean"
	@rm -rf $(SCRATCH) demo-out Benchmarks/.build Examples/.build Fuzzing/.build GTK/.build
