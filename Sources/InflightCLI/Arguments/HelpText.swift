/// The texts of `--help`, at most 80 columns wide.
struct HelpText: Equatable {
    var text: String

    static let all = HelpText(
        text: """
            Inflight loads pictures: every URL in flight once.

            Usage:
              inflight get URL… -o DIR     fetch, check, resize and store pictures
              inflight info URL-or-FILE…   say what a picture is, without decoding it
              inflight show URL-or-FILE…   the picture, in the terminal
              inflight cache ACTION        look at what is stored, check it, or remove it
              inflight lab [NAME…]         experiments with queues, drawn as timelines
              inflight --version

            Steps of --process (lengths in pixels, amounts with 1 for no change):
              resize:WxH[:FIT[:PART]]       crop:WxH[:PART]  crop:WxH+X+Y
              rotate:DEGREES                flip:horizontal  flip:vertical
              blur:RADIUS                   sharpen[:AMOUNT[:RADIUS]]
              grey                          brightness:N  contrast:N  saturation:N
              round:RADIUS[:BORDER:COLOUR]  circle[:BORDER:COLOUR]
              border:WIDTH:COLOUR           flatten[:COLOUR]

            Examples:
              inflight get https://example.org/cat.jpg -o pictures
              inflight get -i urls.txt -o thumbnails --size 320x240 --format webp
              inflight info cat.jpg
              inflight show cat.jpg
              inflight cache verify
              inflight lab deadlock

            More about a command: inflight get --help, inflight info --help,
            inflight show --help, inflight cache --help, inflight lab --help

            """)

    static let get = HelpText(
        text: """
            Fetches pictures, checks that they are whole, and stores them.

            Usage: inflight get [URL…] [-i FILE] -o DIR [options]

            What to fetch:
              URL…                  http:, https:, file: or data:
              -i FILE               URLs one a line; - is standard input. Blank lines and
                                    lines that begin with # are skipped

            Where it goes:
              -o DIR                the directory for the files; made when it is not there.
                                    Without it, the one URL goes to standard output
              --previews            store what can be shown while it comes, too:
                                    NAME.preview-1.png and so on, each better than the last
              --discard             store nothing: to check links, or to warm a cache
              --skip-existing       do not ask again for what lies in DIR whole

            What becomes of it (as it came, unless one of these is given):
              --size WxH            resize to fit; Wx and xH give one side only
              --fit HOW             contain (default); cover, which crops; fill, which
                                    distorts; exact, which enlarges too
              --crop PART           what cover keeps: center (default), top, bottom, left,
                                    right, top-left …, or interest: where most is to see
              --enlarge             make pictures smaller than the size larger, too
              --linear              resize in linear light, so that fine detail keeps how
                                    light it looks; slower
              --page N              of a tiff file that has several, from 1
              --process STEPS       change it, in this order: steps between commas, their
                                    values behind colons, as in blur:4,grey; see below
              --format FORMAT       keep (default; what cannot be written becomes png),
                                    jpeg, png, webp, avif
              --quality N           1 to 100: jpeg (usually 85), webp (80), avif (60)
              --progressive         a jpeg that can be shown coarsely first
              --lossless            every pixel as it is: for webp, as png always does
              --keep-metadata       write what it says of camera, time and place into what
                                    is made of it; all of that is left out otherwise
              --background COLOUR   behind transparent pictures that become jpeg:
                                    white (default), black or #rrggbb
              --incomplete          of damaged pictures take what can be decoded: the rest
                                    is transparent, or coarse
              --raw                 store the bytes as they came, checked to be a whole
                                    picture (what happens without these options)
              --verify              decode it too, to be sure
              --any                 take whatever comes, video or text, without looking

            Limits:
              --concurrency N       loads at once (16)
              --per-host N          loads at once from one host (6)
              --timeout SECONDS     for each URL, redirects included, without the waits
                                    between tries (none)
              --min-rate N          end transfers that bring fewer bytes per second than
                                    this over 30 s (1024); 0 disables it
              --max-bytes N         for each body (200000000)
              --max-pixels N        for each picture (100000000)
              --max-redirects N     for each URL (20)

            What is stored of earlier runs, by HTTP's rules:
              --cache DIR           in that directory (inflight in the user's cache folder)
              --cache-size BYTES    limit of all its files, 8388608 at least (150000000)
              --cache-policy HOW    obey (default): as the servers said; refresh: ask
                                    whether it holds; reload: fetch and store it again;
                                    only-cached: ask nobody; prefer-cached: whatever its
                                    age; no-store: neither use nor store anything
              --stale-on-disconnect use a stale response when its server cannot be reached
              --no-cache            no such directory

            How servers are asked:
              --retries N           tries after the first, where a failure may pass (2)
              --circuit-breaker N   after N connection failures in a row, fail an origin's
                                    other loads at once, and probe it now and then (5);
                                    0 disables this
              --checksum sha256:HEX the one body has to have this checksum
              --header 'K: V'       send a header to every host
              --header-for HOST 'K: V'
                                    send it to HOST (or HOST:PORT) alone, and never behind
                                    a redirect to another place
              --cacert FILE         trust these certificates (PEM) instead of the system's
              --public-only         connect to public addresses only, also after redirects

            Where pictures are decoded:
              --decode WHERE        auto (default): avif, heic, jxl and tiff in processes
                                    that can do nothing else; worker: all; in-process: none
              --svg                 make drawings too

            What is told:
              --json                a line of JSON on standard output for each URL, in the
                                    order of asking
              --unordered           those lines as the loads end
              --report FILE         a page that shows the whole run: one HTML file that
                                    needs nothing else
              --trace FILE.json     when everything happened, for ui.perfetto.dev and
                                    chrome://tracing
              --quiet               no progress and no summary; failures only
              --verbose             what happens to each URL: what was found where, what was
                                    sent and shared, and what each stage took
              --help, --version

            Exit status: 0 all well, 1 something failed, 64 wrong use, 66 the list or the
            certificates cannot be read, 130 after Ctrl-C, 143 after SIGTERM. What is
            finished is kept; a file appears whole or not at all.

            Examples:
              inflight get https://example.org/cat.jpg -o pictures
              inflight get https://example.org/cat.jpg --size 320x > cat.jpg
              inflight get -i urls.txt -o thumbnails --size 320x240 --format webp
              inflight get URL --size 96x96 --fit cover --process circle --format png >me
              inflight get -i urls.txt --discard --json | grep failed

            """)

    static let info = HelpText(
        text: """
            Says what a picture is, without decoding it: format, dimensions, orientation,
            frames, colour, alpha and bytes; of an animation in a file how long it plays,
            and how often. Of a remote file no more is read than needed, so that an
            animation may have more frames than are counted.

            Usage: inflight info URL-or-FILE… [options]
                   inflight info --formats [--json] [--decode WHERE] [--svg]

            Options:
              --formats             which formats are decoded, animated and encoded here, by
                                    which library and where, and what is missing for others
              --placeholder         decode it, and say what stands for it until it is there:
                                    BlurHash, ThumbHash, and the colour of most of it
              --exif                what it says of the camera, the time and the place; all
                                    of the picture is read for that
              --page N              of a tiff file that has several, from 1; all of it is
                                    read for that
              --json                a line of JSON on standard output for each picture
              --timeout SECONDS     for each URL, redirects included (none)
              --min-rate N          end transfers that bring fewer bytes per second than
                                    this over 30 s (1024); 0 disables it
              --max-bytes N         for each body (200000000)
              --max-redirects N     for each URL (20)
              --header 'K: V'       send a header to every host
              --header-for HOST 'K: V'
                                    send it to HOST (or HOST:PORT) alone
              --cacert FILE         trust these certificates (PEM) instead of the system's
              --public-only         connect to public addresses only, also after redirects

            Where pictures are decoded:
              --decode WHERE        auto (default): avif, heic, jxl and tiff in processes
                                    that can do nothing else; worker: all; in-process: none
              --svg                 make drawings too
              --quiet               say nothing of failures
              --verbose             say how much was read, and from where
              --help, --version

            Exit status: 0 all well, 1 something failed, 64 wrong use, 66 the certificates
            cannot be read.

            Examples:
              inflight info cat.jpg
              inflight info --json https://example.org/cat.jpg
              inflight info --formats

            """)

    static let show = HelpText(
        text: """
            Shows pictures in the terminal: as pixels where the terminal says that it has
            Kitty graphics, as half blocks in colour everywhere else, tmux included. One is
            as large as the window, several stand in a grid. Animations play, as often as
            their files say; Ctrl-C ends that.

            Usage: inflight show URL-or-FILE… [options]

            How large:
              --size WxH            in cells of the terminal, at most: 40x20, 40x or x20
              --enlarge             make pictures larger, too, that have fewer pixels
              --columns N           so many beside one another (as many as have room)

            How:
              --mode MODE           auto (default); kitty: without asking the terminal;
                                    blocks
              --colors COLOURS      of blocks: auto (default), truecolor, 256, or none,
                                    which makes letters; auto heeds COLORTERM and NO_COLOR
              --background COLOUR   behind what is transparent: white, black or #rrggbb
                                    (the terminal's own)
              --still               the first frame of animations
              --loop N              play animations that often
              --page N              of a tiff file that has several, from 1

            How servers are asked:
              --timeout SECONDS     for each URL, redirects included (none)
              --min-rate N          end transfers that bring fewer bytes per second than
                                    this over 30 s (1024); 0 disables it
              --max-bytes N         for each body (200000000)
              --max-pixels N        for each picture (100000000)
              --max-redirects N     for each URL (20)
              --header 'K: V'       send a header to every host
              --header-for HOST 'K: V'
                                    send it to HOST (or HOST:PORT) alone
              --cacert FILE         trust these certificates (PEM) instead of the system's
              --public-only         connect to public addresses only, also after redirects

            Where pictures are decoded:
              --decode WHERE        auto (default): avif, heic, jxl and tiff in processes
                                    that can do nothing else; worker: all; in-process: none
              --svg                 make drawings too
              --quiet               say nothing of failures
              --verbose             say how each picture was drawn
              --help, --version

            What has left the window does not move. Standard output has to be a terminal:
            to have a picture, use inflight get URL > FILE.

            Exit status: 0 all well, 1 something failed, 64 wrong use, 66 the certificates
            cannot be read, 130 after Ctrl-C, 143 after SIGTERM.

            Examples:
              inflight show cat.jpg
              inflight show *.webp --columns 4
              inflight show https://example.org/dancing.gif --size 40x --loop 3

            """)

    static let cache = HelpText(
        text: """
            Looks after what inflight get has stored. Where there is no cache none is made.

            Usage: inflight cache stat|list|verify|clear [options]

            Actions:
              stat                  how many entries there are, and what they take
              list                  each entry: age, bytes (+ where some are missing), URL
              verify                read everything, and name what is damaged
              clear                 remove all entries, or those that an option names

            Options:
              --cache DIR           of that directory (inflight in the user's cache folder)
              --json                JSON on standard output: a line, or one for each entry
              --url URL             clear: what that URL answered
              --host HOST           clear: what that host answered, on whatever port
              --older-than AGE      clear: what was stored longer ago: 90s, 5m, 12h, 7d, 2w
              --help, --version

            Damaged entries are never used; files that a killed run has left are no damage.

            Exit status: 0 all well, 1 verify found damage, or something could not be read
            or removed, 64 wrong use, 66 the cache cannot be opened: it is a newer
            program's, no cache, or may not be written. 130 after Ctrl-C, 143 after SIGTERM.

            Examples:
              inflight cache stat
              inflight cache verify --cache thumbnails.cache
              inflight cache clear --host example.org
              inflight cache clear --older-than 7d --json

            """)

    static let lab = HelpText(
        text: """
            Carries out experiments with queues, threads and loads, and draws what was
            recorded as timelines. What may crash or hang runs in a process of its own,
            which is ended.

            Usage: inflight lab [NAME…] [options]

            Without a name all of them run, in about half a minute.

            Options:
              --list                name the experiments, and run none
              --svg FILE            draw them into that file too
              --json                a line of JSON on standard output for each, with all
                                    that was recorded, instead of the drawing
              --help, --version

            Exit status: 0 all well, 1 an experiment could not be carried out, or something
            did not hold that has to, 64 wrong use, 130 after Ctrl-C, 143 after SIGTERM.

            Examples:
              inflight lab --list
              inflight lab serial concurrent
              inflight lab cells --svg cells.svg

            """)
}
