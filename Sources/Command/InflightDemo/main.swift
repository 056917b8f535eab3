import Glibc
import Inflight

do {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "serve" where arguments.count == 3 && arguments[1] == "--list":
        try ServeCommand(list: arguments[2]).run()
    case "contact-sheet" where arguments.count == 4 && arguments[2] == "-o":
        try await ContactSheetCommand(folder: arguments[1], output: arguments[3]).run()
    case "--help":
        print(Usage.text)
    default:
        throw Usage(Usage.text)
    }
} catch {
    let text = Array("\(error)\n".utf8)
    _ = unsafe write(2, text, text.count)
    exit(error is Usage ? 64 : 1)
}
