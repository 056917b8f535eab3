/// The members of an archive that ``TarArchive`` wrote.
///
/// Every byte but those of the bodies is compared with what ``TarArchive`` writes for members of these names and sizes.
/// So a wrong checksum, another mode, owner or time, a pax extension, wrong padding and a missing end are all found.
struct TarIndex {
    /// The place of a member's body.
    struct Member: Equatable {
        /// The member's name.
        var name: String
        /// The offset of the body, in bytes.
        var offset: Int64
        /// The size of the body, in bytes.
        var size: Int64
    }

    /// The members in their order.
    private(set) var members: [Member] = []
    private var indices: [String: Int] = [:]

    /// Reads the headers of an archive.
    ///
    /// - Throws: ``BatchFailure`` if the file cannot be read or is not an archive as it was written.
    init(_ file: StoredFile) throws(BatchFailure) {
        var archive = TarArchive()
        while true {
            let offset = archive.byteCount
            let block = try file.read(TarHeader.blockSize, at: offset)
            // No member has an empty name.
            if block[0] == 0 { break }
            guard let (name, size) = TarHeader.nameAndSize(block),
                let header = try? archive.beginMember(name, size: size), header == block
            else {
                throw .output(damaged: file.path, "The header at byte \(offset) is not as it was written.")
            }
            let member = Member(name: name, offset: archive.bodyOffset, size: size)
            guard indices.updateValue(members.count, forKey: name) == nil else {
                throw .output(damaged: file.path, "It has two members named \(name).")
            }
            members.append(member)
            try Self.check(archive.endMember(), before: archive.byteCount, in: file)
        }
        try Self.check(archive.end(), before: archive.byteCount, in: file)
        guard archive.byteCount == file.size else {
            throw .output(damaged: file.path, "It has bytes after its end at byte \(archive.byteCount).")
        }
    }

    /// Returns a member, or `nil`.
    subscript(name: String) -> Member? { indices[name].map { members[$0] } }

    private static func check(_ zeros: [UInt8], before end: Int64, in file: StoredFile) throws(BatchFailure) {
        let offset = end - Int64(zeros.count)
        guard try file.read(zeros.count, at: offset) == zeros else {
            throw .output(damaged: file.path, "The padding at byte \(offset) is not zero.")
        }
    }
}

extension TarHeader {
    /// Returns the name and the size in a block, which need not be a header that ``bytes`` returns. Compare the block
    /// with that of a header with this name and size.
    static func nameAndSize(_ block: [UInt8]) -> (name: String, size: Int64)? {
        func text(_ range: Range<Int>) -> String { String(decoding: block[range].prefix { $0 != 0 }, as: UTF8.self) }
        guard block.count == blockSize, let size = Int64(text(124..<136), radix: 8) else { return nil }
        let prefix = text(345..<500)
        return ((prefix.isEmpty ? "" : prefix + "/") + text(0..<100), size)
    }
}
