import InflightTestSupport
import Testing

@Suite("Timelines: coalescing, cancellation and priority", .timeLimit(.minutes(10)))
struct TimelineTests {
    @Test("A task that joins a running fetch shares it and receives progress from then on")
    func joining() throws {
        let seen = try Timeline.play(
            """
            u answers ab--c|
            anna u    2
            bert u    --2
            """)
        #expect(
            seen == """
                u     2ab--c|
                anna  -ab--c|
                bert  --b--c|
                """)
    }

    @Test("A cancelled task receives nothing more, and the remaining subscriber receives everything")
    func leaving() throws {
        let seen = try Timeline.play(
            """
            u answers abcd|
            anna u    2-x
            bert u    2
            """)
        #expect(
            seen == """
                u     2abcd|
                anna  -a
                bert  -abcd|
                """)
    }

    @Test("The fetch is cancelled when its last subscriber leaves, and not before")
    func lastOneOut() throws {
        let seen = try Timeline.play(
            """
            u answers abcdef|
            anna u    2-x
            bert u    -2--x
            """)
        #expect(
            seen == """
                u     2abcx
                anna  -a
                bert  -abc
                """)
    }

    @Test("A new task does not join a fetch that is being cancelled, but starts its own at once")
    func newcomer() throws {
        let seen = try Timeline.play(
            """
            u answers ab|
            anna u    2x
            bert u    -2
            """)
        #expect(
            seen == """
                u     2x
                u'    -2ab|
                anna
                bert  --ab|
                """)
    }

    @Test("With one slot, a new fetch waits until the cancelled one has stopped")
    func newcomerWaits() throws {
        let seen = try Timeline.play(
            """
            u answers ab|
            anna u    2x
            bert u    --2
            cleo v    -2
            v answers c|
            """, fetches: 1)
        #expect(
            seen == """
                u     2x
                u'    --..2ab|
                v     -.2c|
                anna
                bert  -----ab|
                cleo  ---c|
                """)
    }

    @Test("A higher-priority fetch runs first, regardless of the order of requests")
    func priority() throws {
        let seen = try Timeline.play(
            """
            u answers a|
            v answers b|
            w answers c|
            anna u    2
            bert v    1
            cleo w    -3
            """, fetches: 1)
        #expect(
            seen == """
                u     2a|
                v     ....1b|
                w     -.3c|
                anna  -a|
                bert  -----b|
                cleo  ---c|
                """)
    }

    @Test("A new subscriber raises a queued fetch, and its cancellation lowers the fetch again")
    func raising() throws {
        let raised = try Timeline.play(
            """
            u answers a|
            v answers b|
            w answers c|
            anna u    2
            bert v    2
            cleo w    2
            dora w    -4
            """, fetches: 1)
        #expect(raised.contains("w     ..4c|"))

        let lowered = try Timeline.play(
            """
            u answers a--|
            v answers b|
            w answers c|
            anna u    2
            bert v    2
            cleo w    1
            dora w    -4x
            """, fetches: 1)
        #expect(lowered.contains("v     ....2b|"))
        #expect(lowered.contains("w     ......1c|"))
    }

    @Test("A queued fetch is dispatched by the current priority of its task")
    func changing() throws {
        let seen = try Timeline.play(
            """
            u answers a--|
            v answers b|
            w answers c|
            anna u    2
            bert v    2-0
            cleo w    1-3
            """, fetches: 1)
        #expect(
            seen == """
                u     2a--|
                v     ......0b|
                w     ....3c|
                anna  -a--|
                bert  -------b|
                cleo  -----c|
                """)
    }

    @Test("A running fetch follows the priorities of its subscribers as they join, change and leave")
    func running() throws {
        let seen = try Timeline.play(
            """
            u answers a------b|
            anna u    1---0
            bert u    --4---x
            """)
        #expect(
            seen == """
                u     1a4---0-b|
                anna  -a------b|
                bert  --a
                """)
    }

    @Test("A failed fetch fails every remaining subscriber, and a cancelled task receives nothing")
    func failing() throws {
        let seen = try Timeline.play(
            """
            u answers a-!
            anna u    2
            bert u    2x
            cleo u    --2
            """)
        #expect(
            seen == """
                u     2a-!
                anna  -a-!
                bert
                cleo  --a!
                """)
    }

    @Test("Cancelling after the result has no effect")
    func late() throws {
        let seen = try Timeline.play(
            """
            u answers a|
            anna u    2--x
            """)
        #expect(
            seen == """
                u     2a|
                anna  -a|
                """)
    }

    @Test("An invalid timeline is rejected", arguments: ["u answers a", "anna v 2\nu answers a|", "u answers 7", "u"])
    func mistakes(script: String) {
        if script == "u answers a" {
            #expect(throws: Never.self) { try Timeline.play(script) }
        } else {
            #expect(throws: Timeline.Mistake.self) { try Timeline.play(script) }
        }
    }
}
