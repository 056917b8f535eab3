import FoundationEssentials

@testable import InflightCLI

/// A terminal's screen as data: output becomes cells with a character and two colours, and images.
///
/// It implements the standards that the command cites, independently of the command. It supports the sequences that
/// the command needs and records all others as unknown, so that no stray sequence goes unnoticed.
struct ScreenModel {
    struct Cell: Equatable {
        var character: Character = " "
        /// If nil, the terminal's default colour.
        var letter: RGB?
        var ground: RGB?
    }

    /// An image of the Kitty graphics protocol and its position.
    struct Picture {
        var keys: [String: String]
        var payload: [UInt8]
        var line: Int
        var column: Int
    }

    let columns: Int
    let rows: Int
    /// All lines from the first one written, including those above the window.
    private(set) var lines: [[Cell]] = [[]]
    private(set) var line = 0
    private(set) var column = 0
    private(set) var pictures: [Picture] = []
    /// The numbers of deleted images.
    private(set) var deleted: [String] = []
    private(set) var cursorIsVisible = true
    /// The queries that a terminal has to reply to.
    private(set) var questions: [String] = []
    /// Sequences that this model does not support.
    private(set) var unknown: [String] = []
    private(set) var clearings = 0

    private var letter: RGB?
    private var ground: RGB?
    private var chunks: (keys: [String: String], payload: String)?

    init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }

    init(_ bytes: [UInt8], columns: Int, rows: Int) {
        self.init(columns: columns, rows: rows)
        write(bytes)
    }

    mutating func write(_ bytes: [UInt8]) {
        var rest = Substring(String(decoding: bytes, as: UTF8.self)).unicodeScalars
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": down()
            case "\u{1B}": escape(&rest)
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value):
                unknown.append("\\u{\(String(scalar.value, radix: 16))}")
            default: put(Character(scalar))
            }
        }
    }

    /// The text of a line without trailing blanks.
    func text(_ line: Int) -> String {
        guard lines.indices.contains(line) else { return "" }
        var text = String(lines[line].map(\.character))
        while text.last == " " { text.removeLast() }
        return text
    }

    /// The pixels of half blocks, two per cell; nil if a cell holds anything else.
    func pixels(line: Int, column: Int = 0, width: Int, height: Int) -> [RGB?]? {
        var pixels: [RGB?] = []
        for y in 0..<height {
            for x in column..<column + width {
                let cell = cell(line + y / 2, x)
                switch cell.character {
                case " ": pixels.append(cell.ground)
                case "▀": pixels.append(y % 2 == 0 ? cell.letter : cell.ground)
                case "▄": pixels.append(y % 2 == 0 ? cell.ground : cell.letter)
                default: return nil
                }
            }
        }
        return pixels
    }

    private func cell(_ line: Int, _ column: Int) -> Cell {
        lines.indices.contains(line) && lines[line].indices.contains(column) ? lines[line][column] : Cell()
    }

    private mutating func down() {
        line += 1
        if line == lines.count { lines.append([]) }
    }

    private mutating func put(_ character: Character) {
        // A full line wraps to the next.
        if column >= columns {
            column = 0
            down()
        }
        while lines[line].count <= column { lines[line].append(Cell()) }
        lines[line][column] = Cell(character: character, letter: letter, ground: ground)
        column += 1
    }

    private mutating func escape(_ rest: inout Substring.UnicodeScalarView) {
        switch rest.popFirst() {
        case "[":
            var parameters = ""
            while let scalar = rest.popFirst() {
                if (0x40..<0x7F).contains(scalar.value) {
                    sequence(parameters, Character(scalar))
                    return
                }
                parameters.unicodeScalars.append(scalar)
            }
        case "_":
            var text = ""
            while let scalar = rest.popFirst() {
                if scalar == "\u{1B}" {
                    _ = rest.popFirst()
                    command(text)
                    return
                }
                text.unicodeScalars.append(scalar)
            }
        case let other: unknown.append("ESC \(other.map(String.init) ?? "")")
        }
    }

    private mutating func sequence(_ parameters: String, _ final: Character) {
        let number = Int(parameters) ?? 1
        let top = max(0, lines.count - rows)
        switch (parameters, final) {
        case (_, "m"): colours(parameters)
        case (_, "A"): line = max(top, line - number)
        case (_, "B"): line = min(top + rows - 1, line + number)
        case (_, "G"): column = min(columns, number) - 1
        case ("?25", "h"): cursorIsVisible = true
        case ("?25", "l"): cursorIsVisible = false
        case ("2", "J"):
            clearings += 1
            lines = [[]]
            line = 0
            pictures = []
        case ("", "H"): (line, column) = (0, 0)
        case ("", "K"): lines[line].removeSubrange(min(column, lines[line].count)...)
        case ("", "c"), ("16", "t"): questions.append(parameters + String(final))
        default: unknown.append("CSI \(parameters)\(final)")
        }
        while lines.count <= line { lines.append([]) }
    }

    private mutating func colours(_ parameters: String) {
        var numbers = parameters.split(separator: ";").compactMap { Int($0) }[...]
        if parameters.isEmpty { numbers = [0] }
        while let number = numbers.popFirst() {
            switch number {
            case 0: (letter, ground) = (nil, nil)
            case 1, 2: break
            case 31: letter = RGB(red: 205, green: 0, blue: 0)
            case 38: letter = Self.colour(&numbers)
            case 39: letter = nil
            case 48: ground = Self.colour(&numbers)
            case 49: ground = nil
            default: unknown.append("SGR \(number)")
            }
        }
    }

    private static func colour(_ numbers: inout ArraySlice<Int>) -> RGB? {
        switch numbers.popFirst() {
        case 2:
            let parts = numbers.prefix(3).map { UInt8($0) }
            numbers = numbers.dropFirst(3)
            return RGB(red: parts[0], green: parts[1], blue: parts[2])
        case 5:
            guard let index = numbers.popFirst() else { return nil }
            if index >= 232 {
                let grey = UInt8((index - 232) * 10 + 8)
                return RGB(red: grey, green: grey, blue: grey)
            }
            let levels: [UInt8] = [0, 95, 135, 175, 215, 255]
            let place = index - 16
            return RGB(red: levels[place / 36], green: levels[place / 6 % 6], blue: levels[place % 6])
        default: return nil
        }
    }

    private mutating func command(_ text: String) {
        guard text.hasPrefix("G") else { return unknown.append("APC \(text.prefix(20))") }
        let parts = text.dropFirst().split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        var keys: [String: String] = [:]
        for pair in parts[0].split(separator: ",") {
            let sides = pair.split(separator: "=")
            keys[String(sides[0])] = String(sides[1])
        }
        let payload = parts.count > 1 ? String(parts[1]) : ""
        if payload.utf8.count > 4096 { unknown.append("a chunk of \(payload.utf8.count) bytes") }
        if chunks != nil {
            if keys.keys.contains(where: { $0 != "m" }) { unknown.append("a later chunk with other keys") }
            chunks?.payload += payload
        } else {
            switch keys["a"] {
            case "q": questions.append("graphics")
            case "d":
                deleted.append(keys["i"] ?? "")
                pictures.removeAll { $0.keys["i"] == keys["i"] }
            default: chunks = (keys, payload)
            }
        }
        guard let done = chunks, keys["m"] != "1" else { return }
        chunks = nil
        let bytes = Data(base64Encoded: done.payload).map { [UInt8]($0) } ?? []
        pictures.append(Picture(keys: done.keys, payload: bytes, line: line, column: column))
    }
}
