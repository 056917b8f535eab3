/// What the arguments ask for.
enum Command: Equatable {
    case get(GetOptions)
    case info(InfoOptions)
    case show(ShowOptions)
    case cache(CacheCommandOptions)
    case lab(LabOptions)
    /// A part of an experiment that needs a process of its own.
    case labChild(String, [String])
    case help(HelpText)
    case version

    /// - Parameter arguments: without the name of the program.
    static func parse(_ arguments: [String], standardOutputIsTerminal: Bool) throws(UsageError) -> Command {
        guard let first = arguments.first else {
            throw UsageError(
                "Say what to do: inflight get URL…, info URL-or-FILE…, show URL-or-FILE…, cache stat or lab.")
        }
        var reader = ArgumentReader(arguments.dropFirst())
        switch first {
        case "get":
            do throws(UsageError) {
                return try GetOptions.parse(&reader, standardOutputIsTerminal: standardOutputIsTerminal)
            } catch {
                throw error.of(command: "get")
            }
        case "info":
            do throws(UsageError) {
                return try InfoOptions.parse(&reader)
            } catch {
                throw error.of(command: "info")
            }
        case "show":
            do throws(UsageError) {
                return try ShowOptions.parse(&reader, standardOutputIsTerminal: standardOutputIsTerminal)
            } catch {
                throw error.of(command: "show")
            }
        case "cache":
            do throws(UsageError) {
                return try CacheCommandOptions.parse(&reader)
            } catch {
                throw error.of(command: "cache")
            }
        case "lab":
            do throws(UsageError) {
                return try LabOptions.parse(&reader)
            } catch {
                throw error.of(command: "lab")
            }
        case "--help", "-h", "help":
            switch reader.next() {
            case .positional("get"): return .help(.get)
            case .positional("info"): return .help(.info)
            case .positional("show"): return .help(.show)
            case .positional("cache"): return .help(.cache)
            case .positional("lab"): return .help(.lab)
            default: return .help(.all)
            }
        case "--version":
            return .version
        default:
            if first.hasPrefix("-") { throw ArgumentReader.unknown(first, known: ["--help", "--version"]) }
            if first.contains("://") {
                throw UsageError("A URL needs a command in front of it: inflight get \(first.quoted).")
            }
            throw UsageError("There is no command \(first.quoted); there are get, info, show, cache and lab.")
        }
    }
}
