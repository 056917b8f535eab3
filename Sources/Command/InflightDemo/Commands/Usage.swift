/// An error in the command line, or in a file that it names.
struct Usage: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) {
        description = text
    }

    static let text = """
        usage: inflight-demo serve --list FILE
                 paints pictures, serves them on loopback, lists their URLs in FILE,
                 and goes on until standard input ends
               inflight-demo contact-sheet DIR -o FILE.png
                 puts all pictures of DIR on one sheet
        """
}
