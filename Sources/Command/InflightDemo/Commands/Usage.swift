/// An error in the command line, or in a file that it names.
struct Usage: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) {
        description = text
    }

    static let text = """
        usage: inflight-demo serve --list FILE
                 paint images, serve them on loopback until standard input ends,
                 and write their URLs to FILE
               inflight-demo contact-sheet DIR -o FILE.png
                 arrange all images of DIR on one sheet
        """
}
