/// The underlying error of a load whose host name does not exist or has no address: another attempt will not help.
package struct HostNotFound: Error {
    /// Creates the error.
    package init() {}
}
