import Testing

@testable import InflightBatch

/// All that a reader makes of an input.
struct Reading: Hashable {
    var results: [RowReader.Result] = []
    var error: InputError?
    var blankLineCount = 0

    var rows: [InputRow] {
        results.compactMap { if case .row(let row) = $0 { row } else { nil } }
    }
    var rejects: [InputReject] {
        results.compactMap { if case .reject(let reject) = $0 { reject } else { nil } }
    }
    var reasons: [InputReject.Reason] { rejects.map(\.reason) }
    var urls: [String] { rows.map(\.url) }
}

/// Options made from the defaults.
func inputOptions(_ change: (inout InputOptions) -> Void) -> InputOptions {
    var options = InputOptions()
    change(&options)
    return options
}

/// Reads an input in the given chunks.
func reading(_ chunks: [ArraySlice<UInt8>], _ format: InputFormat, _ options: InputOptions = .init()) -> Reading {
    var reader = RowReader(format: format, options: options)
    var reading = Reading()
    do throws(InputError) {
        for chunk in chunks {
            reader.append(chunk)
            while let result = try reader.next() { reading.results.append(result) }
        }
        reader.end()
        while let result = try reader.next() { reading.results.append(result) }
    } catch {
        reading.error = error
    }
    reading.blankLineCount = reader.blankLineCount
    return reading
}

/// Reads an input whole, byte by byte and cut at each position, expects equal results, and returns them.
func reading(
    _ bytes: [UInt8], _ format: InputFormat, _ options: InputOptions = .init(),
    location: SourceLocation = #_sourceLocation
) -> Reading {
    let whole = reading([bytes[...]], format, options)
    let single = reading(bytes.indices.map { bytes[$0...$0] }, format, options)
    #expect(single == whole, "byte by byte", sourceLocation: location)
    for position in bytes.indices {
        let cut = reading([bytes[..<position], bytes[position...]], format, options)
        #expect(cut == whole, "cut at \(position)", sourceLocation: location)
    }
    return whole
}

/// Reads a text as ``reading(_:_:_:location:)``.
func reading(
    _ text: String, _ format: InputFormat, _ options: InputOptions = .init(),
    location: SourceLocation = #_sourceLocation
) -> Reading {
    reading(Array(text.utf8), format, options, location: location)
}
