import InflightLab

/// What `inflight lab` was asked to do.
struct LabOptions: Equatable, Sendable {
    static let names = ["--list", "--svg", "--json", "--help", "--version"]

    /// The experiments, in the order of asking; all of them where none is named.
    var experiments: [String] = []
    var list = false
    var json = false
    /// Where the drawing goes as SVG.
    var svg: String?

    static func parse(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        var options = LabOptions()
        while let item = reader.next() {
            switch item {
            case .positional(let name):
                guard Experiment.named(name) != nil else { throw unknown(name) }
                options.experiments.append(name)
            case .option("--help", _), .option("-h", _): return .help(.lab)
            case .option("--version", _): return .version
            case .option("--list", let attached):
                try reader.expectNoValue(of: "--list", attached: attached)
                options.list = true
            case .option("--json", let attached):
                try reader.expectNoValue(of: "--json", attached: attached)
                options.json = true
            case .option("--svg", let attached):
                let path = try reader.value(of: "--svg", attached: attached, "a file")
                if path.isEmpty { throw UsageError("--svg needs the name of a file.") }
                if options.svg != nil { throw UsageError("--svg is given twice; all experiments go into one file.") }
                options.svg = path
            case .option("--child", let attached):
                // Hidden: by it the command starts itself for what is too dangerous for its own process.
                let name = try reader.value(of: "--child", attached: attached, "its part")
                var arguments: [String] = []
                while case .positional(let argument)? = reader.next() { arguments.append(argument) }
                return .labChild(name, arguments)
            case .option(let name, _): throw ArgumentReader.unknown(name, known: names)
            }
        }
        if options.list, !options.experiments.isEmpty || options.svg != nil {
            throw UsageError("--list runs nothing: give neither experiments nor --svg with it.")
        }
        return .lab(options)
    }

    private static func unknown(_ name: String) -> UsageError {
        let known = Experiment.all.map(\.name)
        guard let nearest = ArgumentReader.nearest(to: name, among: known, tolerance: 2) else {
            return UsageError("There is no experiment \(name.quoted); inflight lab --list names them all.")
        }
        return UsageError("There is no experiment \(name.quoted); did you mean \(nearest)?")
    }
}
