import Foundation

/// The sources of the command line as URLs, in order.
struct ImageList {
    private(set) var urls: [String] = []
    /// The sources that could not be read, each with its reason.
    private(set) var problems: [String] = []

    private static let endings: Set<String> = [
        "jpg", "jpeg", "png", "gif", "webp", "avif", "heic", "heif", "jxl", "tif", "tiff", "bmp", "ico", "svg",
    ]
    /// The maximum size of a list in bytes, because lists are read into memory at once.
    private static let largestList = 256 << 20

    init(_ sources: [String]) {
        for source in sources { add(source) }
    }

    private mutating func add(_ source: String) {
        if source.contains("://") || source.hasPrefix("data:") { return urls.append(source) }
        var isFolder: ObjCBool = false
        guard unsafe FileManager.default.fileExists(atPath: source, isDirectory: &isFolder) else {
            return problems.append("\(source): There is no such file or folder.")
        }
        if isFolder.boolValue { return addFolder(source) }
        if Self.endings.contains(URL(fileURLWithPath: source).pathExtension.lowercased()) {
            return urls.append(URL(fileURLWithPath: source).absoluteString)
        }
        addList(source)
    }

    private mutating func addFolder(_ path: String) {
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else {
            return problems.append("\(path): The folder cannot be read.")
        }
        let pictures = files.compactMap { $0 as? URL }.filter { Self.endings.contains($0.pathExtension.lowercased()) }
        if pictures.isEmpty { problems.append("\(path): No pictures are in it.") }
        urls += pictures.map(\.absoluteString).sorted()
    }

    private mutating func addList(_ path: String) {
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        guard size <= Self.largestList else { return problems.append("\(path): The list has more than 256 MB.") }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)),
            let text = String(data: data, encoding: .utf8)
        else { return problems.append("\(path): The list cannot be read, or is no text.") }
        urls += text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
