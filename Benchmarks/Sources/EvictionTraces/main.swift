// Prints, for each trace, the share of requests and of bytes that a cache would have answered under each policy.
//
//     swift run -c release --package-path Benchmarks EvictionTraces [SEED…]
//
// The seeds are 11, 12 and 13 unless told; the table shows the mean over them.

let seeds = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let report = EvictionReport(seeds: seeds.isEmpty ? [11, 12, 13] : seeds)
report.printTable()
report.printSpeed()
