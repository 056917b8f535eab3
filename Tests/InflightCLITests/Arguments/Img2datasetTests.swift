import Foundation
import InflightBatch
import InflightCore
import Testing

@testable import InflightCLI

/// The page for users of img2dataset.
@Suite("Coming from img2dataset", .timeLimit(.minutes(10)))
struct Img2datasetTests {
    /// The parameters of `download` in img2dataset 1.47.
    private static let parameters = """
        url_list image_size output_folder processes_count resize_mode resize_only_if_bigger upscale_interpolation
        downscale_interpolation encode_quality encode_format skip_reencode output_format input_format url_col
        caption_col bbox_col thread_count number_sample_per_shard extract_exif save_additional_columns timeout
        enable_wandb wandb_project oom_shard_count compute_hash verify_hash distributor subjob_size retries
        disable_all_reencoding min_image_size max_image_area max_aspect_ratio incremental_mode max_shard_retry
        user_agent_token disallowed_header_directives
        """.split { $0 == " " || $0 == "\n" }

    /// The cells of the rows of the page's table of options.
    private func rows() throws -> [[String]] {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = try String(contentsOfFile: "/\(root)/Documentation/FromImg2dataset.md", encoding: .utf8)
        let start = try #require(page.range(of: "| img2dataset | default |")?.upperBound)
        let end = try #require(page.range(of: "\n\n", range: start..<page.endIndex)?.lowerBound)
        return page[start..<end].split(separator: "\n").dropFirst(2).map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("Every option of img2dataset is in the table: equal, mapped, or left out with a reason")
    func everyOption() throws {
        let rows = try rows()
        for parameter in Self.parameters {
            let own = rows.filter { $0[1].contains("`--\(parameter)`") || $0[1].contains("`--\(parameter) ") }
            #expect(!own.isEmpty, "\(parameter)")
        }
        for row in rows {
            #expect(row.count == 6, "\(row)")
            let verdict = row[4]
            #expect(
                verdict.hasPrefix("equal") || verdict.hasPrefix("mapped") || verdict.hasPrefix("left out: "), "\(row)")
        }
    }

    @Test("Every option of ours that the table names exists")
    func ownOptions() throws {
        let known = Set(BatchOptions.table.flatMap(\.options).map(\.name))
        for row in try rows() {
            for match in row[3].matches(of: /`(--[a-z0-9-]+)/) {
                #expect(known.contains(String(match.1)), "\(match.1)")
            }
        }
    }

    @Test("The command with the defaults of img2dataset is one that batch accepts")
    func defaults() throws {
        let line =
            "batch rows.txt -o images --layout files --size 256x256 --fit pad --enlarge --format jpg --quality 95 "
            + "--timeout 10 --retries 0 --ignore-robots --per-host 256"
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = try String(contentsOfFile: "/\(root)/Documentation/FromImg2dataset.md", encoding: .utf8)
        let joined = page.replacing("\\\n", with: "").split { $0 == " " || $0 == "\n" }.joined(separator: " ")
        #expect(joined.contains("inflight " + line))
        guard case .batch(let options) = try Command.parse(line: line) else { throw UsageError("another command") }
        #expect(options.resize?.fit == .pad && options.resize?.enlarges == true && options.image.format == .jpeg)
    }

    @Test("Every recipe is a command that batch accepts")
    func recipes() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = try String(contentsOfFile: "/\(root)/Documentation/FromImg2dataset.md", encoding: .utf8)
        let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Recipes\n") })
        let recipes = section.split(separator: "\n### ").dropFirst()
        #expect(recipes.count == 7)
        for recipe in recipes {
            let joined = recipe.replacing("\\\n", with: "")
            let line = try #require(joined.split(separator: "\n").first { $0.hasPrefix("    ") })
            let words = line.replacing("'", with: "").split(separator: " ")
            let start = try #require(words.firstIndex(of: "inflight"), "\(recipe)")
            guard case .batch(let options) = try Command.parse(line: words[(start + 1)...].joined(separator: " "))
            else {
                throw UsageError("another command")
            }
            #expect(options.inputs.count == 1 && options.columns.captionColumn != nil, "\(line)")
        }
    }
}
