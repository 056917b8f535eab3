/// One experiment: its description, and the code that performs it.
package struct Experiment: Sendable {
    /// The name of the experiment on the command line.
    package var name: String
    package var title: String
    /// The aspect of its drawing to look at.
    package var lookAt: String
    /// The differences between Linux, with its libdispatch, and Apple's systems.
    package var platform: String
    /// Performs it on the calling thread, which must not be the main one, and returns when all of it has ended.
    package var perform: @Sendable (Stage) throws(LabError) -> [Scene]

    package init(
        name: String, title: String, lookAt: String, platform: String,
        perform: @escaping @Sendable (Stage) throws(LabError) -> [Scene]
    ) {
        self.name = name
        self.title = title
        self.lookAt = lookAt
        self.platform = platform
        self.perform = perform
    }
}

/// One run within an experiment, and its findings.
package struct Scene: Equatable, Sendable {
    package var title: String
    package var recording: Recording
    package var table: Table?
    /// The findings: sentences made from the records.
    package var findings: [String]
    /// Whether a required property did not hold.
    package var hasFailed: Bool

    package init(
        _ title: String, _ recording: Recording, table: Table? = nil, findings: [String] = [], hasFailed: Bool = false
    ) {
        self.title = title
        self.recording = recording
        self.table = table
        self.findings = findings
        self.hasFailed = hasFailed
    }
}

package struct Table: Equatable, Sendable {
    package var columns: [String]
    package var rows: [[String]]

    package init(columns: [String], rows: [[String]]) {
        self.columns = columns
        self.rows = rows
    }
}

/// The reason why an experiment could not be performed.
package struct LabError: Error, Equatable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
