/// The file name extensions of media types.
enum FileExtension {
    private static let mediaTypes: [String: String] = [
        "image/jpeg": "jpg", "image/png": "png", "image/webp": "webp", "image/gif": "gif", "image/bmp": "bmp",
        "image/avif": "avif", "image/heic": "heic", "image/heif": "heic", "image/jxl": "jxl", "image/tiff": "tiff",
        "image/svg+xml": "svg", "image/jp2": "jp2", "image/x-icon": "ico", "image/vnd.microsoft.icon": "ico",
        "image/vnd.adobe.photoshop": "psd", "application/pdf": "pdf", "application/json": "json",
        "application/zip": "zip", "text/html": "html", "text/plain": "txt", "text/css": "css", "text/csv": "csv",
        "application/javascript": "js", "text/javascript": "js", "application/xml": "xml", "text/xml": "xml",
        "video/mp4": "mp4", "video/webm": "webm", "video/quicktime": "mov", "audio/mpeg": "mp3", "audio/ogg": "ogg",
    ]

    /// Returns the extension for the value of a `Content-Type` field.
    static func of(mediaType: String) -> String? {
        let essence = mediaType.prefix { $0 != ";" && $0 != " " }
        return mediaTypes[essence.lowercased()]
    }
}
