import InflightTestSupport
import Testing

@Suite("Joining, leaving and priority over time", .timeLimit(.minutes(10)))
struct TimelineTests {
    @Test("who joins shares what is under way, and hears of what has come since")
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

    @Test("who leaves hears nothing more, and those who stay hear all")
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

    @Test("the last one to leave stops the exchange, and nobody before")
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

    @Test("a newcomer does not inherit an exchange that is being cancelled, but has its own at once")
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

    @Test("with one place, the exchange of a newcomer waits until the cancelled one has stopped")
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

    @Test("a higher priority goes first, whenever it was asked for")
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

    @Test("a joiner raises what waits, and the raise goes when the joiner does")
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

    @Test("a priority that its own task raises and lowers counts at the moment of the start")
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

    @Test("a running fetch follows its subscribers: raised by one that joins or changes, lowered when it leaves")
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

    @Test("a failure ends everybody who waits, and nobody who left")
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

    @Test("who cancels after the ending changes nothing")
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

    @Test("a row that means nothing is told", arguments: ["u answers a", "anna v 2\nu answers a|", "u answers 7", "u"])
    func mistakes(script: String) {
        if script == "u answers a" {
            #expect(throws: Never.self) { try Timeline.play(script) }
        } else {
            #expect(throws: Timeline.Mistake.self) { try Timeline.play(script) }
        }
    }
}
