internal import InflightPrograms

/// What ``ShardVerifier`` has found.
package struct VerifyReport: Hashable, Sendable {
    /// Something that is not as the run wrote it.
    package struct Problem: Hashable, Sendable {
        /// The file or folder, below the folder of the output.
        package var file: String
        /// What is wrong, as a sentence.
        package var text: String
    }

    /// The maximum number of problems in ``problems``.
    package static let problemLimit = 100

    /// The number of finished shards.
    package internal(set) var finishedShards = 0
    /// The number of shards that were checked, fewer if the check was cancelled.
    package internal(set) var checkedShards = 0
    /// The number of finished shards that are not in the folder any more, because they were handed over.
    package internal(set) var absentShards = 0
    /// The number of rows in these shards.
    package internal(set) var rows = 0
    /// The number of rows with an image.
    package internal(set) var images = 0
    /// The size of these images, in bytes.
    package internal(set) var imageBytes: Int64 = 0
    /// Whether all rows of the input are in finished shards.
    package internal(set) var isComplete = false
    /// The first problems.
    package private(set) var problems: [Problem] = []
    /// The number of all problems.
    package private(set) var problemCount = 0

    init() {}

    mutating func add(_ file: String, _ text: String) {
        problemCount += 1
        if problems.count < Self.problemLimit { problems.append(Problem(file: file, text: text)) }
    }

    /// The report as a JSON object with a line feed.
    package var json: [UInt8] {
        var writer = JSONWriter(.required)
        writer.add("finished_shards", finishedShards)
        writer.add("checked_shards", checkedShards)
        writer.add("absent_shards", absentShards)
        writer.add("rows", rows)
        writer.add("images", images)
        writer.add("image_bytes", imageBytes)
        writer.add("problem_count", problemCount)
        writer.add("complete", isComplete)
        writer.add("problems", problems) { writer, problem in
            writer.add("file", problem.file)
            writer.add("text", problem.text)
        }
        return writer.line
    }
}

extension VerifyReport: CustomStringConvertible {
    /// The report for people, in lines.
    package var description: String {
        var lines = problems.map { "\($0.file): \($0.text)" }
        if problemCount > problems.count { lines.append("… and \(problemCount - problems.count) more problems") }
        let rest = isComplete ? "" : " The run is not complete; resume it with the same command."
        let total = problemCount == 0 ? "no problems" : problemCount == 1 ? "1 problem" : "\(problemCount) problems"
        if absentShards > 0 {
            let shards = absentShards == 1 ? "1 shard was" : "\(absentShards) shards were"
            lines.append("\(shards) not checked: --then has handed over their files, and they are not here any more.")
        }
        lines.append(
            "\(checkedShards) of \(finishedShards) finished shards checked: \(rows) rows, \(images) images, "
                + "\(imageBytes) bytes, \(total).\(rest)")
        return lines.joined(separator: "\n")
    }
}
