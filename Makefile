# What to do with this project. `make` alone says what there is.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
SCRATCH ?= .build
export SWIFT SCRATCH

# A release that runs where no Swift toolchain is: the standard library is inside.
RELEASE = $(SWIFT) build -c release --static-swift-stdlib --scratch-path $(SCRATCH)
# Every warning is an error. With STRICT=1 the tests use this build too, so that CI builds once.
# Without the index, which only editors want, a build takes a third less. The packages of the examples and of the views
# are built into the same folder: what is theirs alone is compiled.
STRICT_FLAGS = --scratch-path $(SCRATCH)/strict --disable-index-store -Xswiftc -warnings-as-errors -Xcc -Werror
TEST_FLAGS = $(if $(STRICT),$(STRICT_FLAGS),--scratch-path $(SCRATCH) --disable-index-store)
# The package manager goes by the last plan of a folder, whichever package that was for, until a manifest is newer.
PLAN = touch Package.swift Examples/Package.swift GTK/Package.swift
SANITIZE_FLAGS = --disable-index-store --scratch-path $(SCRATCH)/$(1) --sanitize $(1)

# Not all at once: a test over sockets must not wait behind hundreds of others for a thread until its timeouts pass.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 4
RUN_TESTS = Scripts/run-tests.sh

SWIFT_SOURCES = $(wildcard Package.swift Sources Tests Benchmarks Examples Fuzzing GTK)

.DEFAULT_GOAL := help
.PHONY: help deps demo build test test-report docs test-docs install lint sanitize stress lab-tsan simulate crash fuzz \
	simulator-coverage path mutation-test bench test-gtk gallery install-gallery gallery-stress sanitize-gtk screenshots clean

help: ## say what there is
	@echo "Inflight: every URL in flight once."
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) \
		| while IFS='|' read -r target text; do printf '%-25s %s\n' "$$target" "$$text"; done

deps: ## install the system packages that are missing (apt-get)
	@Scripts/deps.sh build test

demo: deps build ## load real pictures over real sockets; see demo-out/
	@echo "==> demo"
	@Scripts/demo.sh

build: deps ## build the release
	@echo "==> release build"
	@$(RELEASE)

test: deps ## run all tests
	@echo "==> tests"
	@$(PLAN)
	@$(RUN_TESTS) $(TEST_FLAGS)
	@echo "==> kills: what a disk cache has acknowledged is there afterwards"
	@"$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight-crash" --count 50
	@"$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight-crash" --count 40 --processes 8
	@echo "==> damage: caches whose files are not as they were"
	@"$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight-crash" --damage 40
	@echo "==> examples: they print what they say, and the core links no C library"
	@Scripts/check-examples.sh $(TEST_FLAGS)
	@echo "==> tests of the scripts"
	@INFLIGHT="$$($(SWIFT) build --show-bin-path $(TEST_FLAGS))/inflight" python3 -m unittest discover -q -s Scripts/Tests

test-report: deps ## test the page of get --report in headless Chromium, which is installed for it
	@Scripts/deps.sh report
	@echo "==> the page of --report in Chromium"
	@$(PLAN)
	@Scripts/test-report.sh $(TEST_FLAGS)

docs: deps ## build the documentation site with docc into .build/docs: BASE=/path if it is not at a server's root
	@Scripts/deps.sh gtk
	@echo "==> documentation site"
	@$(PLAN)
	@Scripts/docs.py $(SCRATCH)/docs $(TEST_FLAGS)
	@echo "==> the Swift of the first article compiles"
	@Scripts/check-snippets.py $(TEST_FLAGS)

test-docs: docs ## open the site in headless Chromium at two widths, light and dark
	@Scripts/deps.sh report
	@echo "==> the documentation site in Chromium"
	@PYTHONDONTWRITEBYTECODE=1 INFLIGHT_SITE=$(SCRATCH)/docs python3 -m unittest discover -q -s Tests/Site

install: build ## install the command, its man pages and completions: PREFIX=/usr/local DESTDIR=
	@echo "==> install into $(DESTDIR)$(PREFIX)"
	@Scripts/install.sh "$$($(RELEASE) --show-bin-path)" "$(DESTDIR)$(PREFIX)"

lint: deps ## check format, files, imports, public names and mutants; build with warnings as errors
	@echo "==> format"
	@$(SWIFT) format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	@echo "==> files"
	@Scripts/check-files.py
	@echo "==> imports"
	@Scripts/check-imports.py
	@echo "==> public names"
	@Scripts/public-names.py --check
	@echo "==> mutants: every text that they replace occurs once"
	@Scripts/mutants.py --check
	@echo "==> build, warnings are errors"
	@$(PLAN)
	@$(SWIFT) build --build-tests $(STRICT_FLAGS)

# Each sanitizer runs the tests in which it can find something: the thread sanitizer those of concurrent code; the
# address sanitizer those of code that calls C or addresses memory, without the pure Swift of the kit, the verification
# programs and the layout of text.
THREAD_TESTS = --filter '^Inflight(Concurrency|Images|Core|Curl|Disk|Foundation|Stress|TestSupport|Worker)?Tests\.' \
	--filter '^InflightCLITests\.(Ending|Network|Storing|Unavailable)Tests/'
ADDRESS_TESTS = --skip '^Inflight(Concurrency|Demo|Lab|Stress|TestSupport)Tests\.' \
	--skip '\.(GridLayout|HalfBlocks|TimelineText)Tests/'

# Foundation's URLSession leaks what libcurl made of each request's URL (four allocations a request, also of a program
# that does nothing else): no leaks are looked for where it is used.
sanitize: deps ## run the tests that concern them under the thread and the address sanitizer
	@echo "==> tests under the thread sanitizer"
	@$(RUN_TESTS) $(call SANITIZE_FLAGS,thread) $(THREAD_TESTS)
	@echo "==> tests under the address sanitizer"
	@LSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/leaks.txt $${LSAN_OPTIONS:-}" \
		$(RUN_TESTS) $(call SANITIZE_FLAGS,address) $(ADDRESS_TESTS) --skip URLSession
	@echo "==> tests over URLSession under the address sanitizer"
	@ASAN_OPTIONS=detect_leaks=0 $(RUN_TESTS) --skip-build $(call SANITIZE_FLAGS,address) --filter URLSession

lab-tsan: deps ## show that the thread sanitizer finds the race of inflight lab
	@echo "==> inflight lab race, under the thread sanitizer"
	@Scripts/lab-tsan.sh

# Optimised: the compiler then moves releases about as it does in what is shipped, and more happens in the time.
STRESS_BUILD = $(SWIFT) build -c release --sanitize thread --product inflight-stress --scratch-path $(SCRATCH)/stress
STRESS = $(SCRATCH)/stress/release/inflight-stress --seed $(SEED)
MINUTES ?= 5
SEED ?= 1
stress: deps ## random operations by 16 threads under the thread sanitizer: MINUTES=5 SEED=1
	@echo "==> stress"
	@$(STRESS_BUILD)
	@$(STRESS) --minutes $(MINUTES)
	@echo "==> over libcurl and real sockets"
	@$(STRESS) --operations 50000 --sockets

N ?= 100000
simulate: deps ## run N schedules of the simulator on all cores: N=1000000
	@echo "==> $(N) schedules"
	@$(RELEASE) --product inflight-simulate
	@"$$($(RELEASE) --show-bin-path)/inflight-simulate" --count $(N)

# As many kills as N says, where it is said.
crash: KILLS = $(if $(filter file,$(origin N)),2000,$(N))
crash: deps ## kill N processes that write into a disk cache, damage 1,000 caches, look at what is left: N=2000
	@echo "==> $(KILLS) kills"
	@$(RELEASE) --product inflight-crash
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --count $(KILLS)
	@echo "==> a tenth of them, each of one of eight processes"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --count $$((($(KILLS) + 9) / 10)) --processes 8
	@echo "==> 1,000 damaged caches"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --damage 1000
	@echo "==> eight processes on one folder for a minute, with kills"
	@"$$($(RELEASE) --show-bin-path)/inflight-crash" --seconds 60 --processes 8

# Seconds of processor time for each of the targets, which run one after the other.
SECONDS ?= 60
TARGETS ?=
fuzz: deps ## have libFuzzer throw bytes at every parser, each for SECONDS=60 of processor time
	@echo "==> fuzzing, $(SECONDS) s of processor time each"
	@Scripts/fuzz.py $(SCRATCH)/fuzz $(SECONDS) $(TARGETS)

simulator-coverage: deps ## show which parts of the engine the simulator reaches
	@echo "==> coverage by the simulator"
	@$(PLAN)
	@Scripts/simulator-coverage.py $(SCRATCH)/coverage

path: deps ## show which functions one load of an image goes through, stage by stage
	@echo "==> the path of one load"
	@$(PLAN)
	@Scripts/request-path.py $(SCRATCH)/coverage

MUTANTS ?=
mutation-test: deps ## prove that the suites find the mutants of Scripts/Mutants: MUTANTS="engine two-endings" for some
	@Scripts/deps.sh gtk
	@echo "==> mutants"
	@Scripts/mutants.py $(SCRATCH)/mutants $(MUTANTS)

bench: deps build ## measure, beside the peers
	@Scripts/deps.sh bench
	@echo "==> benchmarks"
	@Scripts/bench.sh

# The views are a package of their own, and need a display: Xvfb's, drawn by the processor.
GTK_FLAGS = --package-path GTK $(TEST_FLAGS)
GTK_DISPLAY = env GSK_RENDERER=cairo NO_AT_BRIDGE=1 xvfb-run -a -s "-screen 0 1280x1024x24"
test-gtk: deps ## run the tests of the views for GTK 4, on a display without a screen
	@Scripts/deps.sh gtk
	@echo "==> tests of what views decide"
	@$(PLAN)
	@$(RUN_TESTS) $(GTK_FLAGS)
	@echo "==> views under a display"
	@$(GTK_DISPLAY) "$$($(SWIFT) build --show-bin-path $(GTK_FLAGS))/GTKChecks"

# What hands work to the main thread, and what takes it there. Not the grid that is thrown about: the sanitizer makes
# its server so slow that hardly a picture comes in time.
sanitize-gtk: deps ## run the bridge and the bindings of the views under the thread sanitizer
	@Scripts/deps.sh gtk
	@echo "==> views under the thread sanitizer"
	@$(PLAN)
	@$(SWIFT) build -c release --sanitize thread --package-path GTK --scratch-path $(SCRATCH)/gtk-thread --product GTKChecks
	@$(GTK_DISPLAY) $(SCRATCH)/gtk-thread/release/GTKChecks main idle texture "in any order" placeholder moves larger blur \
		"left the screen" "far away" again

gallery: deps build ## look at pictures in a window: URLS=file, or the demo's
	@Scripts/deps.sh gtk
	@echo "==> inflight-gallery"
	@Scripts/gallery.sh $(URLS)

install-gallery: deps ## install inflight-gallery, its icon and its entry in the menus: PREFIX=/usr/local DESTDIR=
	@Scripts/deps.sh gtk
	@echo "==> install into $(DESTDIR)$(PREFIX)"
	@Scripts/install-gallery.sh "$(SCRATCH)/gtk" "$(DESTDIR)$(PREFIX)"

gallery-stress: deps ## a million rows bound while the grid is thrown about: BINDS=1000000
	@Scripts/deps.sh gtk
	@echo "==> $(BINDS) binds"
	@$(PLAN)
	@$(SWIFT) build -c release --static-swift-stdlib --package-path GTK --scratch-path $(SCRATCH)/gtk --product GTKChecks
	@$(GTK_DISPLAY) $(SCRATCH)/gtk/release/GTKChecks "no cell" --binds $(BINDS)
	@echo "==> the installed gallery, seen from outside"
	@Scripts/install-gallery.sh "$(SCRATCH)/gtk" "$(SCRATCH)/gallery"
	@$(GTK_DISPLAY) $(SCRATCH)/gtk/release/GTKChecks "the gallery" --binds $(BINDS) --gallery $(SCRATCH)/gallery/bin/inflight-gallery
BINDS ?= 1000000

screenshots: deps build ## take pictures of all that is shown, into .build/screenshots, and make Documentation's sheets of them
	@Scripts/deps.sh gtk report screenshots
	@echo "==> screenshots"
	@$(PLAN)
	@$(SWIFT) build -c release --package-path GTK --scratch-path $(SCRATCH)/gtk --product inflight-gallery
	@Scripts/screenshots.py "$$($(RELEASE) --show-bin-path)" $(SCRATCH)/gtk/release/inflight-gallery $(SCRATCH)/screenshots

clean: ## remove what was built
	@echo "==> clean"
	@rm -rf $(SCRATCH) demo-out Benchmarks/.build Examples/.build Fuzzing/.build GTK/.build
