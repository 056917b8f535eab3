// Prints the hit ratios of each eviction policy over each trace, by requests and by bytes.
//
//     swift run -c release --package-path Benchmarks EvictionTraces [SEED…]
//
// The default seeds are 11, 12 and 13. The table shows the mean over the seeds.

let seeds = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let report = EvictionReport(seeds: seeds.isEmpty ? [11, 12, 13] : seeds)
report.printTable()
report.printSpeed()
