internal import Glibc
internal import InflightCodings

/// A copy of standard input in the folder of a run, compressed with zstd, from which `retry` reads the rows again.
///
/// Has a temporary name until the run has compared all rows, and calls ``keep(in:)``. Used on one thread at a time.
final class InputCopy {
    /// The name in the folder of a run. Patterns for the sidecars do not match it.
    static let name = "input.zst"

    /// The temporary path in the folder of a run.
    static func temporaryPath(in folder: String) -> String { "\(folder)/\(name)\(OutputFile.temporarySuffix)" }

    /// Gives the copy its name, in place of that of an earlier run.
    static func keep(in folder: String) throws(BatchFailure) {
        try OutputFolder.replace("\(folder)/\(name)", with: temporaryPath(in: folder))
        try OutputFolder.synchronize(folder)
    }

    private let file: OutputFile
    private let encoder: ZstandardEncoder

    init(_ path: String) throws(InputError) {
        file = try Self.keeping { () throws(BatchFailure) in try OutputFile(path) }
        do {
            encoder = try ZstandardEncoder()
        } catch {
            throw .outOfMemory
        }
    }

    /// Appends bytes of the input, without its own compression.
    func append(_ bytes: ArraySlice<UInt8>) throws(InputError) { try encode(Array(bytes), ends: false) }

    /// The input has ended.
    func commit() throws(InputError) {
        try encode([], ends: true)
        try Self.keeping { () throws(BatchFailure) in try file.commit() }
    }

    private func encode(_ bytes: [UInt8], ends: Bool) throws(InputError) {
        var output: [UInt8] = []
        do {
            try encoder.encode(bytes, ends: ends, into: &output)
        } catch {
            throw .outOfMemory
        }
        try Self.keeping { () throws(BatchFailure) in try file.append(output) }
    }

    private static func keeping<Value>(_ body: () throws(BatchFailure) -> Value) throws(InputError) -> Value {
        do throws(BatchFailure) { return try body() } catch { throw .cannotKeep(error) }
    }
}

extension InputSource {
    /// Returns the copy of this source that a run has kept in its folder, if it is standard input and there is a copy.
    package func keptCopy(in folder: String) -> InputSource? {
        let copy = "\(folder)/\(InputCopy.name)"
        guard path == nil, unsafe access(copy, R_OK) == 0 else { return nil }
        var source = self
        source.path = copy
        source.isKeptCopy = true
        return source
    }
}
