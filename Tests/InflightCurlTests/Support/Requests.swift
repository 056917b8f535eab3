import InflightCore
import InflightCurl

func request(_ url: String, _ change: (inout TransportRequest) -> Void = { _ in }) throws -> TransportRequest {
    var request = TransportRequest(url: try ResourceURL(url))
    change(&request)
    return request
}

extension Transport {
    /// One exchange, waited for.
    func load(_ url: String, _ change: (inout TransportRequest) -> Void = { _ in }) throws -> Recorder.Heard {
        let recorder = Recorder()
        _ = start(try request(url, change), receiver: recorder)
        return recorder.waitForEnd()
    }
}
