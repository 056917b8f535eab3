internal import Glibc

/// Returns the system's message for an error code, such as "No space left on device".
func systemMessage(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
