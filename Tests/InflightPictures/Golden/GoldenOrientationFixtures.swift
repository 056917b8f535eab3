/// ``GoldenScene`` as HEIC in each of the eight orientations, by pillow-heif 1.8.1 (libheif, x265) at quality 90
/// without chroma subsampling, from images with that EXIF orientation. Each file states it twice: as `irot` and `imir`,
/// which count, and in the EXIF that it carries, which does not.
package enum GoldenOrientationFixtures {
    /// In the order of EXIF's values. All hold the same pixels and differ in what follows from the boxes of `turns`.
    package static let all = zip(1..., turns).map { orientation, boxes -> [UInt8] in
        var file = upright
        let count = boxes.count / 9
        // The sizes of `meta`, `iprp`, `ipco` and `ipma`, and the offsets of both items in `iloc`.
        for (offset, growth) in [(28, 10), (195, 10), (203, 9), (425, 1), (93, 10), (111, 10)] {
            let value = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } + growth * count
            file.replaceSubrange(offset..<offset + 4, with: Pieces.big32(value))
        }
        file[file.count - 7] = UInt8(orientation)
        file[443] += UInt8(count)
        file.insert(contentsOf: [0x86, 0x87].prefix(count), at: 449)
        file.insert(contentsOf: boxes, at: 425)
        return file
    }

    private static let turns = [
        [], HEIFPieces.mirrored(1), HEIFPieces.rotated(2), HEIFPieces.mirrored(0),
        HEIFPieces.rotated(3) + HEIFPieces.mirrored(1), HEIFPieces.rotated(3),
        HEIFPieces.rotated(3) + HEIFPieces.mirrored(0), HEIFPieces.rotated(1),
    ]

    private static let upright = Base64.bytes(
        """
        AAAAHGZ0eXBoZWl4AAAAAG1pZjFoZWl4bWlhZgAAAb9tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9jAAAA
        AERAAAIAAQAAAAAB4wABAAAAAAAAAmgAAgAAAAAESwABAAAAAAAAACQAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABodmMxAAAAABVpbmZl
        AgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAAA/mlwcnAAAADeaXBjbwAAAHdodmNDAQQIAAAAnjgAAAAAHvAA/P/4+AAADwNgAAEAF0ABDAH/
        /wQIAAADAJ44AAADAAAeugJAYQABACpCAQEECAAAAwCeOAAAAwAAHpAEECCy3VXTXNwENBgQAAADAZAAAAMAEIBiAAEACEQBwXMYMBiQAAAAE2Nv
        bHJuY2x4AAEADQAGgAAAABRpc3BlAAAAAAAAAEAAAABAAAAAKGNsYXAAAAAgAAAAAQAAABgAAAAB////4AAAAAL////YAAAAAgAAABBwaXhpAAAA
        AAMICAgAAAAYaXBtYQAAAAAAAAABAAEFgQIDBYQAAAAaaXJlZgAAAAAAAAAOY2RzYwACAAEAAQAAApRtZGF0AAACZCgBrwYyCZs6BBCuMdcC02l9
        fCtCXfoT6ZptdIinyePeEPrv9OYDcN9zj80P6dhku+/3P0f8HH5NZlr0fZLaGlA8YN8UzvKA86y2NTHN9UdNie5YV4+xun09kioY40dNL6lMCkZI
        DrRzm9tn//5hcIelzoyzUEgRyjmpInuC7GG8Q+csl1WUEjofZBD83pxH0azUqIsN1VBb4nMqUUn2NBsJKwHwj2Pq2vGAZ7DHrUBzyZqqvm9eS5JP
        OKnoLaLymKHhZTbGOeSjzVT2fTyPGlHr0Uv32q5SBxaXtRbww3yF49YR5xRQulMljzPuuQMvm7Q8gsWl7puI5fRIyX2w3LhT5sUOt+4cOzLlCGQz
        VtO1tUYx6cHex7Se+JSoqAhvICXD8PVPAA0GVZbVgprIHLBN/UrcFkK1khY3kTLWjWX/9KERVWIK2HCXmQR0aX6kXEk76POthYBcaovfW6nxib0h
        TMxR/gv/YUNU8OoYMCOmxGfkEZyRiyXQxbW9q87hY5Tpwfvf70L22u3iLxEiFHN2Ag25pAtcrk5FuHo9s2ZPyXodXDnh/YTkeg2b5YLMjc9bJKaE
        u+dnst/UHjxRkfUW4L5tdX1FMeuM45D21NOhUmWLFUDTL/RPotb0blC0sgWKJr/t7Us0L8sTCJAleeYk4nXGxaDdVfbNx3zxs1hGuKdBrcds7ms0
        8tYt031y67E9YoRE5c3vj1M+3GYb3UIkBoBr+WaazWKATDCu98WBYy3sbXNlPXUwMhDa/+lxHlXwXb+9rY4112P6peM6LNBN6KHrmNqQQ7lKJ36/
        pYOObHof4AAAAAZFeGlmAABNTQAqAAAACAABARIAAwAAAAEAAQAAAAAAAA==
        """)
}
