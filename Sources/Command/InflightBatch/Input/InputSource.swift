internal import Glibc
internal import InflightFiles

/// One input of a run: a file or standard input.
package struct InputSource: Hashable, Sendable {
    /// The path of the file; `nil` for standard input.
    package var path: String?
    /// The format of the rows.
    package var format: InputFormat
    /// Whether the file is the copy of standard input that a run has kept.
    package var isKeptCopy = false
    /// The files whose rows are those of standard input, if a program has converted them: a row of each is one line.
    package var parts: [Part] = []

    /// A file among ``parts``.
    package struct Part: Hashable, Sendable {
        /// The name for messages and for the reject file.
        package var name: String
        /// The number of its rows.
        package var rowCount: Int

        /// Creates a part.
        package init(name: String, rowCount: Int) {
            self.name = name
            self.rowCount = rowCount
        }
    }

    /// The name for messages and for the journal.
    package var name: String { isKeptCopy ? Self.standardInputName : path ?? Self.standardInputName }

    private static let standardInputName = "standard input"

    /// Returns the name of the file that has a line of this input, and the line in that file, from 1.
    func place(ofLine line: Int) -> (name: String, line: Int) {
        let (name, lines) = file(ofLine: line)
        return (name, line - lines.lowerBound + 1)
    }

    /// Returns the name of the file that has a line of this input, and all lines of that file.
    ///
    /// - Complexity: O(n) in the number of parts.
    func file(ofLine line: Int) -> (name: String, lines: ClosedRange<Int>) {
        var first = 1
        for part in parts {
            if line < first + part.rowCount { return (part.name, first...(first + part.rowCount - 1)) }
            first += part.rowCount
        }
        return (name, 1...Int.max)
    }

    /// The size of the file in bytes; `nil` for anything else, such as a pipe.
    var size: Int64? {
        guard let path, let status = try? FileStatus(of: path, followsLink: true), status.isFile else { return nil }
        return status.size
    }

    /// Returns the inputs that the arguments of a command name, in their order.
    ///
    /// `-` names standard input. An argument that contains `*`, `?` or `[`, and names no existing file, is a pattern of
    /// the shell. It stands for all matching files in the order of their bytes. A folder stands for the files in it
    /// whose names tell their format, or the given one, in the same order; folders in it are ignored. Every file is
    /// opened once, and closed, so that a wrong name is found before the first row is read.
    ///
    /// - Parameter format: The format of all inputs; if `nil`, the name of each input tells it.
    /// - Throws: ``BatchFailure`` for the first argument that is wrong.
    package static func expanding(
        _ arguments: [String], format: InputFormat? = nil
    ) throws(BatchFailure) -> [InputSource] {
        var sources: [InputSource] = []
        for argument in arguments {
            if argument == "-" {
                sources.append(try source(nil, format))
                continue
            }
            let isPattern = argument.utf8.contains { "*?[".utf8.contains($0) } && !exists(argument)
            for path in isPattern ? try matches(argument) : [argument] {
                for path in try files(path, format) {
                    try checkReadable(path)
                    sources.append(try source(path, format))
                }
            }
        }
        return sources
    }

    /// Returns the files of a folder, or the path of anything else.
    private static func files(_ path: String, _ format: InputFormat?) throws(BatchFailure) -> [String] {
        guard (try? FileStatus(of: path, followsLink: true))?.isFolder == true else { return [path] }
        let names: [String]
        do {
            names = try Folder.names(in: path)
        } catch {
            throw .input(InputFailure(name: path, error: .cannotOpen(code: error.code)))
        }
        let prefix = path.hasSuffix("/") ? path : path + "/"
        let files = names.filter { name in
            guard !name.hasPrefix("."), let detected = InputFormat.detected(fileName: name)?.format else {
                return false
            }
            // Both kinds of JSON have the same names.
            let isWanted = format.map { $0 == detected || $0 == .jsonLines && detected == .json } ?? true
            return isWanted && (try? FileStatus(of: prefix + name, followsLink: true))?.isFolder == false
        }
        guard !files.isEmpty else {
            let hasParquet = names.contains(where: InputFormat.isParquet)
            throw .input(InputFailure(name: path, error: hasParquet ? .parquet : .folderWithoutInputs))
        }
        return files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { prefix + $0 }
    }

    private static func source(_ path: String?, _ format: InputFormat?) throws(BatchFailure) -> InputSource {
        var source = InputSource(path: path, format: format ?? .text)
        if format == nil {
            guard let detected = path.flatMap(InputFormat.detected) else {
                let isParquet = InputFormat.isParquet(fileName: source.name)
                throw .input(InputFailure(name: source.name, error: isParquet ? .parquet : .unknownFormat))
            }
            source.format = detected.format
        }
        return source
    }

    private static func exists(_ path: String) -> Bool {
        (try? FileStatus(of: path)) != nil
    }

    private static func checkReadable(_ path: String) throws(BatchFailure) {
        do {
            let status = try FileStatus(of: path, followsLink: true)
            // Opening a named pipe would wait for its writer.
            if status.isFile { try FileDescriptor.open(path, O_RDONLY).close() }
        } catch {
            throw .input(InputFailure(name: path, error: .cannotOpen(code: error.code)))
        }
    }

    private static func matches(_ pattern: String) throws(BatchFailure) -> [String] {
        var found = unsafe glob_t()
        let status = unsafe glob(pattern, GLOB_ERR | GLOB_NOSORT, nil, &found)
        let code = errno
        defer { unsafe globfree(&found) }
        switch status {
        case 0: break
        case GLOB_NOSPACE: throw .input(InputFailure(name: pattern, error: .outOfMemory))
        // A folder in the pattern cannot be read. One that does not exist has no matches.
        case GLOB_ABORTED where code != ENOENT:
            throw .input(InputFailure(name: pattern, error: .cannotOpen(code: code)))
        default: throw .input(InputFailure(name: pattern, error: .noMatch))
        }
        var paths: [String] = []
        for index in unsafe 0..<Int(found.gl_pathc) {
            if let path = unsafe found.gl_pathv[index] { paths.append(unsafe String(cString: path)) }
        }
        return paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
