import FoundationEssentials
import Glibc
import Inflight
import InflightBatch

/// The command of a run, stored in its folder, so that `retry` needs only the folder.
enum SavedCommand {
    private static let fileName = "command.json"
    private static let maximumBytes = 4 << 20
    /// Options of one invocation, and header fields, which may be secret.
    private static let omitted: Set<String> = ["-o", "--class", "--header", "--json", "--quiet", "--report"]

    /// Writes a command into the folder of its run, in place of an earlier one.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after the name of the command.
    ///   - sources: The inputs that they name, with absolute paths.
    static func write(_ arguments: [String], inputs sources: [InputSource], to folder: String) throws(SystemError) {
        let options = options(arguments) { option, value in
            if omitted.contains(option.name) { return nil }
            let isPath = option.suggestion == .file || option.suggestion == .folder
            // A program without a folder is found in PATH.
            let isFound = option.name == "--then" && !value.text.contains("/")
            return isPath && !isFound ? value.texts.map(absolute) : value.texts
        }
        let bytes = JSONWriter.value(sources.map { $0.path ?? "-" } + options)
        try AtomicFile("\(folder)/\(fileName)").finish(bytes + [UInt8(ascii: "\n")])
    }

    /// Returns the options to retry a run: those of the run, or those of the retry in their place.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the retry after the name of the command.
    ///   - classes: The classes to retry.
    static func retry(_ arguments: [String], classes: Set<String>, in folder: String) throws -> BatchOptions {
        let given = options(arguments) { $0.name == "--class" ? nil : $1.texts } + ["-o", folder]
        do {
            let file = try LocalFile("\(folder)/\(fileName)")
            let bytes = try file.read(min(file.size, maximumBytes))
            let saved = try JSONDecoder().decode([String].self, from: Data(bytes))
            var reader = ArgumentReader(saved + given)
            guard case .batch(var options) = try BatchOptions.parse(&reader, standardOutputIsTerminal: false) else {
                throw SystemError(code: EINVAL)
            }
            options.action = .retry
            options.retriedClasses = classes
            return options
        } catch let error as UsageError {
            throw error
        } catch {
            let reason = (error as? SystemError)?.text ?? "It is damaged"
            throw CommandLineTool.Refusal(
                message: "Cannot read \(folder)/\(fileName), the command of the run: \(reason). Run that command again "
                    + "to restore it.", status: ExitStatus.noInput)
        }
    }

    /// Returns the options among arguments with the values that `transform` returns, without those for which it returns
    /// `nil`.
    private static func options(
        _ arguments: [String], _ transform: (Option<BatchOptions>, OptionValue) -> [String]?
    ) -> [String] {
        let table = BatchOptions.table.flatMap(\.options)
        var reader = ArgumentReader(arguments)
        var result: [String] = []
        while let item = reader.next() {
            guard case .option(let name, let attached) = item, let option = table.first(where: { $0.name == name }),
                let value = try? reader.value(of: option, attached: attached), let values = transform(option, value)
            else { continue }
            result += [name] + values
        }
        return result
    }

    /// Returns the absolute path of a file.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }
}
