import InflightBatch

/// The man page inflight-batch(5): the files that bulk downloads write.
enum BatchOutputPage {
    /// The name by which `inflight man` prints the page.
    static let name = "batch.5"

    static let columns: [(name: String, meaning: String)] = [
        ("url", "as in the input; empty if the row has none"),
        ("key", "the name of the sample"),
        (
            "status",
            "success; failed_to_download: no body was received, or it must not be used; failed_to_resize: no image could "
                + "be made of the body, or a filter failed the image"
        ),
        ("error_message", "the reason of a failure, for people"),
        ("error_class", "the class of a failure, such as http_404, as inflight batch status counts them"),
        ("width", "the width of the written image, in pixels"),
        ("height", "the height of the written image, in pixels"),
        ("original_width", "the width of the fetched image, in pixels"),
        ("original_height", "the height of the fetched image, in pixels"),
        ("exif", "the EXIF tags, as text that is a JSON object"),
        ("sha256", "the SHA-256 of the fetched body, in hexadecimal digits"),
    ]

    private static let layouts: [(String, String)] = [
        (
            "00000.tar",
            "webdataset, the default: an archive (ustar) for each shard. The members of a sample are adjacent: KEY.jpg, or "
                + "the extension of another format; KEY.json, which is the row of the sidecar; and with --caption-column "
                + "KEY.txt."
        ),
        ("00000/", "files: the same files in a folder for each shard."),
        (
            "ab/cd/abcd....jpg",
            "hashed: an image named by the SHA-256 of the fetched body, once for all rows with that body."
        ),
    ]
    private static let shardFiles: [(String, String)] = [
        ("00000.jsonl.zst", "the sidecar: a JSON object for each row of the shard in the order of the input, by zstd"),
        ("00000_stats.json", "the statistics of the shard"),
    ]
    private static let otherFiles: [(String, String)] = [
        ("rejects.jsonl", "the rows of the input that could not be used: file, line and reason"),
        ("journal.sqlite", "the outcome of every row, with journal.sqlite-wal, journal.sqlite-shm and journal.lock"),
        ("command.json", "the arguments of the run, for inflight batch retry"),
        ("input.zst", "the rows of standard input, once their end was read"),
        ("staging", "the images of shards that are not complete, and other files of a run that has not ended"),
    ]
    private static let statistics: [(String, String)] = [
        ("count, successes", "the number of rows, and of those with an image"),
        ("failed_to_download, failed_to_resize", "the number of rows with this status"),
        ("bytes", "the size of all written images"),
        ("duration, start_time, end_time", "in seconds, the latter two since 1970"),
        ("status_dict", "the number of successes, and of failures by class"),
    ]

    /// The page as mdoc.
    static var text: String {
        var lines = [".Dd \(Version.date)", ".Dt INFLIGHT-BATCH 5", ".Os \"\(Version.text)\""]
        lines += [".Sh NAME", ".Nm inflight-batch", ".Nd output of bulk downloads", ".Sh DESCRIPTION"]
        lines += ManPage.paragraphs(
            """
            The output of inflight batch is a folder. A shard holds 10,000 rows of the input, or as many as --shard-size
            sets, in their order. With --part, names of shards and keys end in -part- and the number of the part.

            A shard appears whole: all of its files have their names once they are on the disk, the archive last. Files
            whose names end in .partial are being written. With --then, files of finished shards were handed over and may
            be missing.
            """)
        for (title, rows) in [
            ("Images", layouts), ("Files of each shard", shardFiles), ("Other files", otherFiles),
        ] {
            lines += [".Ss \(title)"] + ManPage.list(rows.map { (".It Pa \(ManPage.escaped($0))", $1) })
        }
        lines += [".Ss Columns of the sidecar"]
        lines += ManPage.paragraphs(
            """
            All rows of a run have the same columns, with null where there is no value. The columns of the input follow.
            One that has a name from here has the prefix input_.
            """)
        lines += ManPage.list(columns.map { (".It Va \($0.name)", $0.meaning) })
        lines += [".Ss Statistics"] + ManPage.list(statistics.map { (".It Va \(ManPage.escaped($0))", $1) })
        lines += [".Ss Keys"]
        lines += ManPage.paragraphs(
            """
            A key is made of ASCII letters, digits, _ and -, and is unique in the dataset: by default the numbers of the
            shard and of the row in it, with --keys id the column of --id-column, with --keys digest the SHA-256 of the
            URL and of the options for images. A row whose id or URL an earlier row has gets that key, -- and its number.
            """)
        lines += [".Sh EXAMPLES"]
        lines += ManPage.literal([
            "zstdcat laion/00000.jsonl.zst | jq -r 'select(.error_class == \"http_404\").url'",
            "tar xOf laion/00000.tar 000000000.jpg > first.jpg",
            "duckdb -c \"SELECT status, count(*) FROM read_json('laion/*.jsonl.zst') GROUP BY status\"",
        ])
        lines += [".Sh SEE ALSO", ".Xr inflight-batch 1"]
        return lines.joined(separator: "\n") + "\n"
    }
}
