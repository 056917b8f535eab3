import InflightCore

/// The occupancy of the lanes, according to events.
struct LaneOccupancy {
    typealias Place = (lane: ImagePipeline.Event.Lane, isRunning: Bool)

    private struct Level: Equatable {
        var running = 0
        var waiting = 0
    }

    private var levels: [ImagePipeline.Event.Lane: Level] = [:]
    private var samples: [ImagePipeline.Event.Lane: Samples<Level>] = [:]

    /// Moves a job between the queue and the slots of lanes; `nil` is outside all lanes.
    mutating func move(_ place: inout Place?, to next: Place?, at time: Int) {
        if let place { change(place, by: -1) }
        if let next { change(next, by: 1) }
        for lane in Set([place?.lane, next?.lane].compactMap(\.self)) {
            samples[lane, default: Samples()].add(levels[lane] ?? Level(), at: time)
        }
        place = next
    }

    private mutating func change(_ place: Place, by difference: Int) {
        if place.isRunning {
            levels[place.lane, default: Level()].running += difference
        } else {
            levels[place.lane, default: Level()].waiting += difference
        }
    }

    func samples(of lane: ImagePipeline.Event.Lane) -> [RunRecord.Lane.Sample] {
        (samples[lane]?.values ?? []).map {
            RunRecord.Lane.Sample(at: $0.at, running: $0.value.running, waiting: $0.value.waiting)
        }
    }
}

/// Values over time, thinned out beyond a limit: the last value of each interval, with intervals of equal length.
struct Samples<Value: Equatable> {
    /// The maximum number of values, as many as a drawing can show.
    private static var most: Int { 2000 }

    private(set) var values: [(at: Int, value: Value)] = []
    private var step = 1

    mutating func add(_ value: Value, at time: Int) {
        let time = max(time, values.last?.at ?? 0)
        if let last = values.last, last.at / step == time / step {
            values[values.count - 1] = (time, value)
            return
        }
        values.append((time, value))
        while values.count > Self.most {
            step *= 2
            var thinned: [(at: Int, value: Value)] = []
            for sample in values {
                if let last = thinned.last, last.at / step == sample.at / step { thinned.removeLast() }
                thinned.append(sample)
            }
            values = thinned
        }
    }
}
