/// The end of one row.
///
/// `Image` is what is known of the staged image of a success: for the journal its place and its record, for the
/// ``ShardBook`` its size in bytes.
package enum RowOutcome<Image: Sendable>: Sendable {
    /// The row's image is staged.
    case success(Image)
    /// The row has no image: the class of the failure, and a message for people.
    case failure(class: String, message: String)
    /// The row has the outcome of an earlier row: one with the same URL, or with the same body.
    ///
    /// A row whose body equals that of a later row, which has ended before, is a success: which of the two ended first
    /// must not change the output.
    case duplicate(of: Int)
}
