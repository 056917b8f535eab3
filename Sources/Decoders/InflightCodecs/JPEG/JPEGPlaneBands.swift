internal import CInflightCodecs
import InflightImages

/// The buffers for one band of each plane, between the decoder and the resizer.
// Safe: only the decoder uses the pointers, and their sizes are those it requests.
@safe final class JPEGPlaneBands {
    private let descriptions: [inflight_jpeg_plane]
    /// The buffers for the next band of each plane.
    let memory: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>

    init(_ descriptions: [inflight_jpeg_plane]) {
        self.descriptions = descriptions
        unsafe memory = .allocate(capacity: 4)
        unsafe memory.initialize(repeating: nil, count: 4)
        for (index, description) in descriptions.enumerated() {
            unsafe memory[index] = .allocate(
                capacity: Int(description.rows_per_read) * Int(description.bytes_per_row))
        }
    }

    deinit {
        for index in 0..<4 { unsafe memory[index]?.deallocate() }
        unsafe memory.deallocate()
    }

    /// Passes the decoded band to the resizer.
    func drain(into resizer: PlaneResizer) {
        for (index, description) in descriptions.enumerated() {
            guard let band = unsafe memory[index] else { continue }
            unsafe resizer.push(
                index, band, stride: Int(description.bytes_per_row), count: Int(description.rows_per_read))
        }
    }
}
