import Glibc
import InflightCodings
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

/// A finished run of two shards. The second has one row.
struct FinishedRun {
    let folder = RunFolder()
    let form: ShardWriter.Form
    let hasCaptions: Bool

    static let schema = SidecarSchema(ownColumns: ["id", "tags"])

    init(_ form: ShardWriter.Form, hasCaptions: Bool = true) throws {
        (self.form, self.hasCaptions) = (form, hasCaptions)
        let names = [ShardWriter.Form.webdataset: "webdataset", .files: "files", .hashedFiles: "hashed"]
        let options = ["layout": names[form] ?? "", "format": "png", "captions": hasCaptions ? "yes" : "no"]
        let journal = try folder.open(options)
        try journal.record(JournalInput(name: "a.jsonl", rowCount: 5), number: 0)
        for shard in 0..<2 {
            try write(shard)
            try journal.record(Self.rows[shard].enumerated().map { Self.journalRow(shard * 4 + $0, $1) })
            try journal.finish(shard, rows: Self.numbers(shard))
        }
    }

    var configuration: ShardWriter.Configuration {
        ShardWriter.Configuration(
            folder: folder.path, layout: folder.layout, form: form, schema: Self.schema, imageExtension: .fixed("png"),
            hasCaptions: hasCaptions)
    }

    /// A row of the sidecar, with the body and the caption of a success.
    struct Row {
        var line: SidecarRow
        var body: [UInt8]?
        var caption: String?
    }

    /// Two images around a failure, and a duplicate of the first; then one image.
    static let rows: [[Row]] = [
        [
            success("000000000", 5, 4, digest: 1, padding: 700, caption: "ä"), failure("000000001"),
            success("000000002", 2, 9, digest: 2, padding: 300_000),
            success("000000003", 5, 4, digest: 1, padding: 700),
        ], [success("000010000", 1, 1, digest: 3, padding: 0, caption: "last")],
    ]

    static func numbers(_ shard: Int) -> Range<Int> { shard * 4..<(shard * 4 + rows[shard].count) }

    private static func success(
        _ key: String, _ width: Int, _ height: Int, digest: UInt8, padding: Int, caption: String? = nil
    ) -> Row {
        var line = SidecarRow(url: "http://a.test/\(key)?\"ü\"", key: key, status: .success)
        (line.image.width, line.image.height, line.image.originalWidth, line.image.originalHeight) = (
            width, height, 100, 200
        )
        line.image.exif = #"{"Make":"x"}"#
        line.image.sha256 = ContentDigest([UInt8](repeating: digest, count: 32))
        line.ownValues = [Array("\"\(key)\"".utf8), caption == nil ? nil : Array(#"["a",{"b":1.50}]"#.utf8)]
        return Row(line: line, body: HeaderCodec.image(width, height, padding: padding), caption: caption)
    }

    private static func failure(_ key: String) -> Row {
        var line = SidecarRow(url: "http://none.test/", key: key, status: .failedToDownload)
        (line.errorMessage, line.errorClass) = ("No address\nfor none.test.", "dns")
        line.ownValues = [nil, nil]
        return Row(line: line)
    }

    private static func journalRow(_ number: Int, _ row: Row) -> JournalRow {
        if row.body == nil { return failed(number) }
        return number == 3 ? duplicate(number, of: 0) : InflightBatchTests.success(number)
    }

    /// Writes a shard, or replaces it.
    func write(_ shard: Int, _ rows: [Row]? = nil) throws {
        let writer = try ShardWriter(shard, configuration)
        for row in rows ?? Self.rows[shard] {
            guard let body = row.body else {
                try writer.add(row.line, .failure(class: "dns"))
                continue
            }
            folder.directory.write("image", body)
            let image = try StoredFile(folder.directory.appending("image")).whole
            try writer.add(row.line, .image(image, caption: row.caption))
            unsafe unlink(image.file.path)
        }
        _ = try writer.finish(duration: .seconds(2))
    }

    /// Replaces the sidecar of the first shard.
    func writeSidecar(_ text: String) throws {
        var bytes: [UInt8] = []
        try ZstandardEncoder().encode(Array(text.utf8), ends: true, into: &bytes)
        folder.write("00000.jsonl.zst", bytes)
    }

    /// The lines of the first shard's sidecar.
    static var lines: [String] { rows[0].map { String(decoding: $0.line.line(schema), as: UTF8.self) } }

    func reader(_ shard: Int = 0) throws(BatchFailure) -> ShardReader { try ShardReader(shard, configuration) }

    func readRows(_ shard: Int = 0) throws -> [SidecarRow] {
        var rows: [SidecarRow] = []
        try reader(shard).rows { index, row in
            #expect(index == rows.count)
            rows.append(row)
        }
        return rows
    }

    /// Changes the bytes of a file.
    func change(_ name: String, _ body: (inout [UInt8]) throws -> Void) throws {
        var bytes = try #require(folder.read(name))
        try body(&bytes)
        folder.write(name, bytes)
    }
}

/// A codec for images that are a PNG signature, a width, a height, padding, and a zero byte.
struct HeaderCodec: ImageCodec {
    var decodableFormats: Set<ImageFormat> { [.png] }
    var encodableFormats: Set<ImageFormat> { [] }

    static func image(_ width: Int, _ height: Int, padding: Int) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, UInt8(width), UInt8(height)]
            + (0..<padding).map { UInt8(truncatingIfNeeded: $0 &* 7 | 1) } + [0]
    }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        guard bytes.count >= 10 else { throw damage }
        return .info(ImageInfo(format: .png, storedWidth: Int(bytes[8]), storedHeight: Int(bytes[9])))
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        guard bytes[bytes.count - 1] == 0 else { throw damage }
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer { throw damage }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes { throw damage }

    private var damage: LoadError { LoadError(.damaged, stage: .decode, message: "The image is truncated.") }
}

/// An archive, its members and their headers, for faults that keep the rest as it was.
struct ArchiveEditor {
    struct Member {
        var header: [UInt8]
        var body: [UInt8]
    }

    var members: [Member] = []

    init(_ bytes: [UInt8]) {
        var offset = 0
        while bytes[offset] != 0 {
            let header = Array(bytes[offset..<(offset + 512)])
            let size = Int(String(decoding: header[124..<135], as: UTF8.self), radix: 8) ?? 0
            members.append(Member(header: header, body: Array(bytes[(offset + 512)..<(offset + 512 + size)])))
            offset += 512 + (size + 511) / 512 * 512
        }
    }

    /// Changes a field of a header, with a right checksum.
    mutating func set(_ text: String, at offset: Int, of index: Int) {
        var header = members[index].header
        header.replaceSubrange(offset..<(offset + text.utf8.count), with: Array(text.utf8))
        header.replaceSubrange(148..<156, with: Array("        ".utf8))
        let sum = String(header.reduce(0) { $0 + Int($1) }, radix: 8)
        let digits = String(repeating: "0", count: 6 - sum.count) + sum
        header.replaceSubrange(148..<156, with: Array(digits.utf8) + [0, 0x20])
        members[index].header = header
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for member in members {
            bytes += member.header + member.body
            bytes += [UInt8](repeating: 0, count: (512 - member.body.count % 512) % 512)
        }
        bytes += [UInt8](repeating: 0, count: 1024)
        return bytes + [UInt8](repeating: 0, count: (10_240 - bytes.count % 10_240) % 10_240)
    }
}
