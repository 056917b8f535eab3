/// One experiment: what it shows, and how it is carried out.
package struct Experiment: Sendable {
    /// What it is called by on the command line.
    package var name: String
    package var title: String
    /// What to look at in its drawing.
    package var lookAt: String
    /// What Linux, with its libdispatch, does otherwise than Apple's systems.
    package var platform: String
    /// Carries it out on the calling thread, which must not be the main one, and returns when all of it has ended.
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

/// One run within an experiment, and what was found in it.
package struct Scene: Equatable, Sendable {
    package var title: String
    package var recording: Recording
    package var table: Table?
    /// Sentences, made from the records.
    package var findings: [String]
    /// Something did not hold that has to.
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

/// Why an experiment could not be carried out.
package struct LabError: Error, Equatable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
