import Inflight

/// The command line as it may be shown to others: without user names, passwords, and the values of headers.
enum ShownCommand {
    /// - Parameter arguments: without the name of the program.
    static func text(_ arguments: [String]) -> String {
        var shown = ["inflight"]
        /// What follows is shown like this.
        var expected: [(String) -> String] = []
        for argument in arguments {
            if !expected.isEmpty {
                shown.append(quoted(expected.removeFirst()(argument)))
                continue
            }
            switch argument {
            case "--header": expected = [header]
            case "--header-for": expected = [{ $0 }, header]
            default: break
            }
            if let attached = attachedHeader(argument) {
                shown.append(quoted(attached))
            } else {
                shown.append(quoted(url(argument)))
            }
        }
        return shown.joined(separator: " ")
    }

    private static func header(_ field: String) -> String {
        guard let colon = field.firstIndex(of: ":") else { return "…" }
        return field[...colon] + " …"
    }

    private static func attachedHeader(_ argument: String) -> String? {
        let name = "--header="
        return argument.hasPrefix(name) ? name + header(String(argument.dropFirst(name.count))) : nil
    }

    private static func url(_ argument: String) -> String {
        guard argument.contains("@"), let url = try? ResourceURL(argument) else { return argument }
        return url.userInfo == nil ? argument : url.string
    }

    /// As a shell takes it.
    private static func quoted(_ argument: String) -> String {
        let plain = argument.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "%+,-./:=@_".utf8.contains(byte)
        }
        if plain, !argument.isEmpty { return argument }
        return "'" + argument.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
