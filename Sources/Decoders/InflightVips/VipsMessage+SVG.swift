extension VipsMessage {
    /// The phrases of librsvg, and those of libxml2 that it passes on.
    static let svg: [Phrase] = [
        .truncated("premature end of data"),
        .truncated("couldn't find end of start tag"),
        .damaged("entity '", "it uses an entity that it does not declare"),
        .damaged("not proper utf-8", "its text is not valid UTF-8"),
        .unsupported("excessive depth", "its elements are nested too deeply"),
        .unsupported("cannot load more than", "it has too many elements"),
        .unsupported("exceeded more than", "it refers to too many elements"),
        .unsupported("unsupported encoding", "its character encoding is not supported"),
        .damaged("does not have <svg> root", "its first element is not svg"),
        .damaged("xml parse error", "its XML is malformed"),
    ]
}
