import Inflight

extension GetOptions {
    static let names =
        [
            "-i", "-o", "--size", "--fit", "--enlarge", "--linear", "--crop", "--process", "--page", "--format",
            "--quality", "--progressive", "--lossless", "--keep-metadata", "--background", "--raw", "--verify",
            "--any", "--discard", "--skip-existing", "--unordered", "--concurrency", "--per-host", "--max-pixels",
            "--retries", "--circuit-breaker", "--checksum", "--previews", "--incomplete", "--report", "--trace",
        ] + CacheOptions.names + NetworkOptions.names

    /// What only the options beside one another can say.
    private struct Seen {
        var size: (width: Int?, height: Int?)?
        var fit: Resize.Fit?
        var gravity: Resize.Gravity?
        var enlarges = false
        var isLinear = false
        var format = false
        var raw = false
        var verify = false
        var any = false
    }

    static func parse(
        _ reader: inout ArgumentReader, standardOutputIsTerminal: Bool
    ) throws(UsageError) -> Command {
        var options = GetOptions()
        var seen = Seen()
        while let item = reader.next() {
            switch item {
            case .positional(let url):
                if url == "-" { throw UsageError("\"-\" is no URL; a list on standard input is given with -i -.") }
                options.urls.append(url)
            case .option("--help", _), .option("-h", _):
                return .help(.get)
            case .option("--version", _):
                return .version
            case .option(let name, let attached):
                if try options.network.take(name, attached: attached, from: &reader) { continue }
                if try options.cache.take(name, attached: attached, from: &reader) { continue }
                if try options.takeFlag(name, attached: attached, seen: &seen, reader) { continue }
                try options.takeValue(name, attached: attached, seen: &seen, from: &reader)
            }
        }
        try options.settle(seen)
        try options.check(standardOutputIsTerminal: standardOutputIsTerminal)
        return .get(options)
    }

    private mutating func takeFlag(
        _ name: String, attached: String?, seen: inout Seen, _ reader: ArgumentReader
    ) throws(UsageError) -> Bool {
        switch name {
        case "--enlarge": seen.enlarges = true
        case "--linear": seen.isLinear = true
        case "--progressive": isProgressive = true
        case "--lossless": isLossless = true
        case "--keep-metadata": keepsMetadata = true
        case "--raw": seen.raw = true
        case "--verify": seen.verify = true
        case "--any": seen.any = true
        case "--discard": discards = true
        case "--previews": showsPreviews = true
        case "--incomplete": acceptsIncomplete = true
        case "--skip-existing": skipsExisting = true
        case "--unordered": isUnordered = true
        default: return false
        }
        try reader.expectNoValue(of: name, attached: attached)
        return true
    }

    private mutating func takeValue(
        _ name: String, attached: String?, seen: inout Seen, from reader: inout ArgumentReader
    ) throws(UsageError) {
        switch name {
        case "-i":
            if list != nil { throw UsageError("-i was given twice; there can be one list.") }
            list = try reader.value(of: name, attached: attached, "a file with URLs one a line, or -")
            if list == "" { throw UsageError("-i needs the name of a file, or -, not \"\".") }
        case "-o":
            directory = try reader.value(of: name, attached: attached, "the directory where files go")
            if directory == "" { throw UsageError("-o needs the name of a directory, not \"\".") }
        case "--report":
            report = try reader.value(of: name, attached: attached, "the file for the report, such as report.html")
            if report == "" || report == "-" {
                throw UsageError(
                    "--report needs the name of a file, such as report.html, not \((report ?? "").quoted).")
            }
        case "--size":
            let text = try reader.value(of: name, attached: attached, "WIDTHxHEIGHT, WIDTHx or xHEIGHT")
            seen.size = try OptionValue.size(text, of: name)
        case "--fit":
            let text = try reader.value(of: name, attached: attached, "contain, cover, fill or exact")
            seen.fit = try OptionValue.choice(text, of: name, ProcessList.fits)
        case "--crop":
            let text = try reader.value(of: name, attached: attached, "which part to keep, such as top or interest")
            seen.gravity = try OptionValue.choice(text, of: name, ProcessList.gravities)
        case "--process":
            let text = try reader.value(of: name, attached: attached, "steps such as blur:4,grey")
            processors += try ProcessList.parse(text, of: name)
        case "--page":
            page = try OptionValue.page(try reader.value(of: name, attached: attached, "a number from 1"), of: name)
        case "--format":
            let text = try reader.value(of: name, attached: attached, "keep, jpeg, png, webp or avif")
            format = try OptionValue.choice(
                text, of: name,
                [("keep", nil), ("jpeg", ImageFormat.jpeg), ("png", .png), ("webp", .webp), ("avif", .avif)])
            seen.format = true
        case "--quality":
            let text = try reader.value(of: name, attached: attached, "a number from 1 to 100")
            quality = try OptionValue.integer(text, of: name, in: 1...100)
        case "--background":
            let text = try reader.value(of: name, attached: attached, "a colour such as #ff8000")
            background = try OptionValue.color(text, of: name)
        case "--max-pixels":
            let text = try reader.value(of: name, attached: attached, "a number of pixels")
            network.maximumPixels = try OptionValue.integer(text, of: name, in: 1...Int.max)
        case "--concurrency":
            let text = try reader.value(of: name, attached: attached, "how many loads at once")
            concurrency = try OptionValue.integer(text, of: name, in: 1...1000)
        case "--trace":
            trace = try reader.value(of: name, attached: attached, "the file for the trace")
            if trace == "" { throw UsageError("--trace needs the name of a file, not \"\".") }
        case "--retries":
            let text = try reader.value(of: name, attached: attached, "how often to try again")
            retries = try OptionValue.integer(text, of: name, in: 0...100)
        case "--circuit-breaker":
            let text = try reader.value(of: name, attached: attached, "a number of connection failures, or 0")
            circuitBreaker = try OptionValue.integer(text, of: name, in: 0...1000)
        case "--checksum":
            let text = try reader.value(of: name, attached: attached, "sha256: and 64 hexadecimal digits")
            guard let sum = Checksum(text) else {
                throw UsageError("--checksum takes sha256: and 64 hexadecimal digits, not \(text.quoted).")
            }
            checksum = sum
        case "--per-host":
            let text = try reader.value(of: name, attached: attached, "how many loads at once from one host")
            perHost = try OptionValue.integer(text, of: name, in: 1...1000)
        default:
            throw ArgumentReader.unknown(name, known: Self.names)
        }
    }

    /// Makes one treatment of the options that ask for one.
    private mutating func settle(_ seen: Seen) throws(UsageError) {
        if let size = seen.size {
            resize = Resize(
                width: size.width, height: size.height, fit: seen.fit ?? .contain, gravity: seen.gravity ?? .center,
                enlarges: seen.enlarges, light: seen.isLinear ? .linear : .encoded)
            if seen.enlarges || seen.fit == .exact, let width = size.width, let height = size.height,
                width * height > network.maximumPixels
            {
                throw UsageError(
                    "--size \(width)x\(height) with \(seen.enlarges ? "--enlarge" : "--fit exact") is more than --max-pixels allows "
                        + "(\(Quantity.grouped(network.maximumPixels))).")
            }
        } else if seen.fit != nil {
            throw UsageError("--fit says how a picture fits a size; give one with --size.")
        } else if seen.enlarges || seen.isLinear {
            throw UsageError("\(seen.enlarges ? "--enlarge" : "--linear") needs a size; give one with --size.")
        }
        if isLossless, format != .webp, format != .png {
            throw UsageError("--lossless keeps every pixel: give --format webp or --format png with it.")
        }
        if isLossless, quality != nil { throw UsageError("--lossless and --quality contradict each other.") }
        if seen.gravity != nil, seen.fit != .cover {
            throw UsageError("--crop says which part --fit cover keeps; give both, with --size.")
        }
        if keepsMetadata, seen.raw || seen.any {
            throw UsageError(
                "--keep-metadata is about pictures that are made anew; with \(seen.raw ? "--raw" : "--any") all bytes stay "
                    + "as they came.")
        }
        if keepsMetadata, format == .avif {
            throw UsageError("--keep-metadata: nothing is written into avif beside pixels. Choose jpeg, png or webp.")
        }
        let remaking = [
            (seen.size != nil, "--size"), (page != nil, "--page"), (!processors.isEmpty, "--process"),
            (seen.format, "--format"),
            (quality != nil, "--quality"), (isProgressive, "--progressive"), (isLossless, "--lossless"),
        ].first { $0.0 }?.1
        if seen.any {
            let other = remaking ?? (seen.raw ? "--raw" : seen.verify ? "--verify" : nil)
            if let other {
                throw UsageError("--any takes bytes without looking at them, so it cannot go with \(other).")
            }
            treatment = .anything
        } else if let remaking {
            if seen.raw {
                throw UsageError("--raw stores pictures as they came, so it cannot go with \(remaking).")
            }
            treatment = .remade
        } else {
            treatment = .asItCame(verified: seen.verify)
        }
    }

    private func check(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.check()
        try cache.check()
        if checksum != nil {
            if list != nil || urls.count > 1 { throw UsageError("--checksum is that of one body: give one URL.") }
            if treatment == .remade {
                throw UsageError("--checksum is that of the body as it came, so nothing can be made of it.")
            }
        }
        if acceptsIncomplete, treatment != .remade {
            throw UsageError(
                "--incomplete makes a picture of what can be decoded of a damaged one: say which with --format, --size or "
                    + "--process.")
        }
        if showsPreviews, directory == nil || discards {
            throw UsageError("--previews are stored beside the picture; give a directory with -o DIR.")
        }
        if showsPreviews, treatment == .anything {
            throw UsageError("--any takes bytes without looking at them, so it cannot go with --previews.")
        }
        if urls.isEmpty && list == nil { throw UsageError("Give at least one URL, or a list of them with -i FILE.") }
        guard writesToStandardOutput else { return }
        if skipsExisting { throw UsageError("--skip-existing needs a directory to look in; give one with -o DIR.") }
        if list != nil { throw UsageError("A list needs a directory for its files; give one with -o DIR.") }
        if urls.count > 1 {
            throw UsageError("\(urls.count) URLs need a directory for their files; give one with -o DIR.")
        }
        if network.json {
            throw UsageError(
                "--json and the picture cannot both go to standard output; give a directory with -o DIR.")
        }
        if standardOutputIsTerminal {
            throw UsageError(
                "A picture is nothing for a terminal; give a directory with -o DIR, or redirect to a file.")
        }
    }
}
