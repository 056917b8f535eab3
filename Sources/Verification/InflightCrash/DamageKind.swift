import Glibc
import InflightTestSupport

/// A kind of damage to the files of a cache.
enum DamageKind: String, CaseIterable {
    case indexBit = "a bit of the index"
    case indexPage = "a page of the index, random"
    case indexPages = "two pages of the index, swapped"
    case indexCut = "the index, truncated"
    case indexRandom = "the index, random"
    case otherIndex = "another cache's index"
    case logBit = "a bit of the log"
    case logCut = "the log, truncated"
    case otherLog = "another cache's log"
    case sharedMemoryBit = "a bit of the log's shared memory"
    case bodyBit = "a bit of a body"
    case bodyCut = "a body, truncated"
    case bodyGone = "something else in a body's place"
    case bodies = "two bodies, swapped"
    case partBit = "a bit of a partial body"
    case tagBit = "a bit of the tag"
    case two = "bits of two files"
    case everything = "all files, random"
    case clock = "the clock, set back a year"

    static func of(_ seed: UInt64) -> DamageKind { allCases[Int(seed % UInt64(allCases.count))] }

    /// The loss that a kind of damage may cause.
    struct Allowance {
        /// The bodies that may be lost, by number.
        var bodies: Set<Int> = []
        /// The number of any other bodies that may be lost.
        var others = 0
        /// Whether every body may be lost.
        var all = false
        /// Whether the index may be discarded, with every body.
        var discards = false
        /// Whether a body that changed after the log began may have its old state.
        var isOld = false

        mutating func add(_ other: Allowance) {
            bodies.formUnion(other.bodies)
            others += other.others
            all = all || other.all
            discards = discards || other.discards
            isOld = isOld || other.isOld
        }
    }
}

/// Pages of an index (https://www.sqlite.org/fileformat2.html#b_tree_pages).
enum IndexPage {
    static let size = 4096

    /// Returns the loss that damage to a page may cause. The number of bodies holds as long as SQLite notices nothing.
    static func allowance(_ page: ArraySlice<UInt8>, number: Int) -> DamageKind.Allowance {
        var allowance = DamageKind.Allowance(discards: true)
        let first = page.startIndex
        if number == 0 || page[first] == 5 {
            // SQLite notices each row that it does not find by its number.
        } else if page[first] == 2 {
            // SQLite follows this page unless it is malformed, and then misses existing rows.
            allowance.all = true
        } else if page[first] == 10 || page[first] == 13 {
            allowance.others = Int(page[first + 3]) << 8 | Int(page[first + 4])
        } else {
            // The page holds a piece of one body, or of the page map.
            allowance.others = 1
        }
        return allowance
    }
}
