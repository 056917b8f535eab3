import Inflight
import InflightCore

/// What a terminal is told that shows pictures as pixels.
///
/// Source: the terminal graphics protocol of Kitty (sw.kovidgoyal.net/kitty/graphics-protocol): its sections on display,
/// on remote clients, on whether a terminal has it, and on deleting.
enum KittyGraphics {
    /// The number that the question is asked, and answered, with.
    static let questionID = 31

    /// Asks whether there are such graphics, by a picture of one pixel that is not kept, and then who the terminal is (DA1
    /// of ECMA-48 section 8.3.24): every terminal answers that, in order, so that nobody has to wait for an answer that
    /// does not come.
    ///
    /// - Parameter asksCell: whether it is asked how large a cell is, too (`CSI 16 t` of xterm).
    static func question(asksCell: Bool) -> [UInt8] {
        let cell = asksCell ? "\u{1B}[16t" : ""
        return Array("\u{1B}_Gi=\(questionID),s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\(cell)\u{1B}[c".utf8)
    }

    /// The most of a picture's bytes that one command may carry, as base64.
    static let chunk = 4096

    /// Sends a PNG and shows it where the cursor stands, which does not move. Nothing is answered.
    ///
    /// - Parameters:
    ///   - id: by which it is deleted or replaced later; `nil`: it stays.
    ///   - cells: what it takes, where it has to be said since nobody knows how large a cell is.
    static func picture(_ png: Bytes, id: UInt32?, cells: (columns: Int, rows: Int)?) -> [UInt8] {
        var keys = "a=T,f=100,q=2,C=1"
        if let id { keys += ",i=\(id)" }
        if let cells { keys += ",c=\(cells.columns),r=\(cells.rows)" }
        let text = Array(Base64.encoded(png.array).utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count + text.count / chunk * 16 + 64)
        for start in stride(from: 0, to: max(1, text.count), by: chunk) {
            let end = min(text.count, start + chunk)
            let more = end < text.count ? 1 : 0
            // Behind the first only this key is allowed.
            bytes += Array("\u{1B}_G\(start == 0 ? keys + "," : "")m=\(more);".utf8)
            bytes += text[start..<end]
            bytes += Array("\u{1B}\\".utf8)
        }
        return bytes
    }

    /// Takes a picture away, and lets the terminal forget it.
    static func deletion(of id: UInt32) -> [UInt8] {
        Array("\u{1B}_Ga=d,d=I,i=\(id),q=2\u{1B}\\".utf8)
    }
}
