import FoundationEssentials
import Glibc
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight lab` as a command.
@Suite(.timeLimit(.minutes(10)))
struct LabCommandTests {
    private let place = TemporaryDirectory()

    @Test("lab draws the named experiments within COLUMNS, and without colours into a pipe")
    func drawing() throws {
        let result = place.run("lab", "serial", "inactive", environment: ["COLUMNS": "60"])
        #expect(result.status == 0)
        #expect(result.text.contains("serial: A private serial queue") && result.text.contains("┣"))
        #expect(!result.text.contains("\u{1B}"))
        for line in result.text.split(separator: "\n") { #expect(TerminalText.width(line) <= 60, "\(line)") }
        #expect(result.errors.isEmpty)
    }

    @Test("operations: Waiting operations each take a thread, and all of them end")
    func operations() throws {
        struct Line: Decodable {
            struct Scene: Decodable {
                struct Span: Decodable {
                    var startOrder, endOrder, thread: Int
                }
                var ok: Bool
                var spans: [Span]
            }
            var scenes: [Scene]
        }
        let result = place.run("lab", "operations", "--json")
        #expect(result.status == 0)
        let line = try JSONDecoder().decode(Line.self, from: Data(result.output))
        try #require(line.scenes.count == 2)
        for scene in line.scenes { #expect(scene.ok && scene.spans.count == 6) }
        let waiting = line.scenes[0].spans
        for left in waiting {
            // Two operations on one thread could not both be blocked at once.
            let beside = waiting.filter { $0.startOrder > left.startOrder && $0.startOrder < left.endOrder }
            #expect(beside.allSatisfy { $0.thread != left.thread })
        }
    }

    @Test("lab --svg writes one complete file, or nothing if the path cannot be written")
    func svg() {
        #expect(place.run("lab", "inactive", "--svg", "out.svg").status == 0)
        let drawn = String(decoding: place.read("out.svg") ?? [], as: UTF8.self)
        #expect(drawn.hasPrefix("<svg ") && drawn.hasSuffix("</svg>\n"))
        for (path, part) in [("none/out.svg", "No such file"), (".", "Is a directory"), ("/dev/null", "Invalid")] {
            let result = place.run("lab", "inactive", "--svg", path)
            #expect(result.status == 1 && result.errors.contains(part) && result.output.isEmpty, "\(result.errors)")
        }
        #expect(place.names == ["out.svg"])
    }

    @Test("lab --list prints all experiments, and an unknown name is a usage error")
    func list() {
        let result = place.run("lab", "--list")
        #expect(result.status == 0)
        #expect(
            result.text.split(separator: "\n").map { String($0.prefix { $0 != " " }) } == LabInvocation.names)
        let unknown = place.run("lab", "deadlok")
        #expect(unknown.status == 64 && unknown.errors.contains("Did you mean deadlock?"))
    }

    @Test(
        "SIGINT and SIGTERM end lab and its children, and leave no partial drawing", arguments: [SIGINT, SIGTERM])
    func signals(_ signal: Int32) throws {
        // The child inherits descriptor 9, so the reader sees the end only after both processes have ended.
        #expect(unsafe mkfifo(place.appending("alive"), 0o600) == 0)
        let alive = unsafe open(place.appending("alive"), O_RDWR | O_CLOEXEC)
        let command = RunningCommand(
            ["lab", "inversion-three", "--svg", "out.svg"], in: place, pipesOutput: true, prefix: "exec 9>alive")
        // The heading is printed before the child starts.
        while !command.readLine().hasPrefix("On Linux:") {}
        let reading = unsafe open(place.appending("alive"), O_RDONLY | O_CLOEXEC)
        close(alive)
        command.signal(signal)
        #expect(command.wait().status == 128 + signal)
        var byte: UInt8 = 0
        #expect(unsafe read(reading, &byte, 1) == 0)
        close(reading)
        #expect(place.names == ["alive"])
    }
}

/// Where `inflight` finds `inflight-lab`: beside itself, then in `../libexec/inflight`.
@Suite(.timeLimit(.minutes(10)))
struct LabProgramTests {
    private let place = TemporaryDirectory()

    /// Runs `inflight lab` from the folder `bin` of the temporary folder.
    ///
    /// - Parameter prepare: Shell commands that make the rest of the installation.
    private func lab(_ arguments: String, _ prepare: String = ":") -> CommandResult {
        // `ln` fails between file systems.
        let copy =
            "mkdir -p bin libexec/inflight; ln '\(RunningCommand.binary)' bin/inflight 2>/dev/null || "
            + "cp '\(RunningCommand.binary)' bin/inflight"
        return place.run("--version", prefix: "\(copy)\n\(prepare)\nexec bin/inflight lab \(arguments)")
    }

    /// Shell commands that make a program at `path` that prints its name and arguments.
    private func printing(_ name: String, at path: String) -> String {
        "printf '#!/bin/sh\\necho \(name) \"$*\"\\n' >\(path); chmod 755 \(path)"
    }

    @Test("The lab is found in libexec, and beside the command first, and gets what the command was asked for")
    func places() {
        let libexec = printing("libexec", at: "libexec/inflight/inflight-lab")
        let far = lab("serial cells --json --svg a.svg", libexec)
        #expect(far.status == 0 && far.errors.isEmpty, "\(far.errors)")
        #expect(far.text == "libexec --for \(Version.number) --json --svg a.svg serial cells\n")
        let near = lab("--list", libexec + "\n" + printing("beside", at: "bin/inflight-lab"))
        #expect(near.text == "beside --for \(Version.number) --list\n")
    }

    @Test("Without inflight-lab, inflight lab fails with 69, and says where it looked and what to install")
    func missing() {
        let result = lab("serial")
        #expect(result.status == 69 && result.output.isEmpty)
        #expect(
            result.errors.contains("/bin/inflight-lab or ") && result.errors.contains("/libexec/inflight/inflight-lab"))
        #expect(result.errors.hasSuffix("Install inflight-lab.\n"), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
        // What needs no experiment needs no lab.
        #expect(lab("--help").status == 0)
        #expect(lab("serail").status == 64)
    }

    @Test("An inflight-lab that is not executable, or no program, is named with the reason")
    func notExecutable() {
        let result = lab("serial", printing("fake", at: "bin/inflight-lab") + "; chmod 644 bin/inflight-lab")
        #expect(result.status == 69 && result.output.isEmpty)
        #expect(result.errors.contains("bin/inflight-lab\": Permission denied. Install inflight-lab again."))
        let broken = lab("serial", "printf no >bin/inflight-lab; chmod 755 bin/inflight-lab")
        #expect(broken.status == 69 && broken.errors.contains("Exec format error"), "\(broken.errors)")
    }

    @Test("An inflight-lab of another version fails with 69, and names both versions")
    func otherVersion() {
        // As an `inflight` of version 9.9.9 would start it.
        let other = "printf '#!/bin/sh\\nshift 2\\nexec \(BuiltProgram.path("inflight-lab")) --for 9.9.9 \"$@\"\\n' "
        let result = lab("serial", other + ">bin/inflight-lab; chmod 755 bin/inflight-lab")
        #expect(result.status == 69 && result.output.isEmpty)
        #expect(result.errors.contains("version \(Version.number), but inflight has version 9.9.9"), "\(result.errors)")
        #expect(result.errors.hasSuffix("Install inflight-lab of the same version.\n"))
    }
}
