import Inflight
import InflightBatch

/// The support for each format in this installation, as text and as JSON.
enum FormatsText {
    static func output(_ options: NetworkOptions) -> [UInt8] {
        let formats = FormatSupport.all(decoding: options.decoding, decoder: options.decoder())
        return options.json ? formats.flatMap(json) : Array(text(formats, style: Style.of(.output)).utf8)
    }

    static func json(_ support: FormatSupport) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("format", support.format.rawValue)
        for (name, ability) in abilities(of: support) {
            writer.add(name) { inner in
                switch ability {
                case .present(let library, let place):
                    inner.add("state", "present")
                    inner.add("library", library)
                    inner.add("where", place.rawValue)
                case .absent(let reason, let package):
                    inner.add("state", "absent")
                    inner.add("reason", OptionNames.get.message(reason))
                    if let package { inner.add("debianPackage", package) }
                case .none:
                    inner.add("state", "none")
                }
            }
        }
        return writer.line
    }

    /// Returns a table, followed by the missing features: each reason once, with the formats that it applies to.
    static func text(_ formats: [FormatSupport], style: Style) -> String {
        var lines = [style.bold(row("", ["decoded", "animated", "previewed", "encoded"]))]
        var gaps: [(names: [String], what: String)] = []
        for support in formats {
            let name = InfoText.name(support.format)
            lines.append(row(name, abilities(of: support).map { word($0.ability) }))
            for (verb, ability) in abilities(of: support) {
                guard case .absent(let reason, let package) = ability else { continue }
                let what = OptionNames.get.message(reason) + (package.map { ". Debian packages: \($0)" } ?? "")
                let subject = verb == "encode" ? "\(name) (encoding)" : name
                if let index = gaps.firstIndex(where: { $0.what == what }) {
                    gaps[index].names.append(subject)
                } else {
                    gaps.append(([subject], what))
                }
            }
        }
        if lines.contains(where: { $0.contains(mark) }) {
            lines += ["", "*  in a sandboxed process"]
        }
        lines += gaps.isEmpty ? [] : [""]
        lines += gaps.map { TerminalText.safe("\($0.names.joined(separator: ", ")): \($0.what)") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns sentences that name the Debian packages by which more formats can be decoded.
    static func missingPackages(_ formats: [FormatSupport]) -> [String] {
        var names: [String: [String]] = [:]
        for support in formats {
            guard case .absent(_, let package?) = support.decoding else { continue }
            names[package, default: []].append(InfoText.name(support.format))
        }
        return names.sorted { $0.key < $1.key }.map { "Install \($0) to decode \($1.joined(last: " and "))." }
    }

    private static func abilities(of support: FormatSupport) -> [(verb: String, ability: FormatSupport.Ability)] {
        [
            ("decode", support.decoding), ("animate", support.animation), ("preview", support.preview),
            ("encode", support.encoding),
        ]
    }

    private static func word(_ ability: FormatSupport.Ability) -> String {
        switch ability {
        case .present(let library, .inProgram): library
        case .present(let library, .inDecoder): library + mark
        case .absent: "absent"
        case .none: "-"
        }
    }

    private static let mark = " *"

    private static func row(_ name: String, _ cells: [String]) -> String {
        let columns = zip([name] + cells, [9, 21, 10, 15, 0])
        return columns.map { text, width in text + String(repeating: " ", count: max(0, width - text.count)) }.joined()
    }
}
