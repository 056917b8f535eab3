@testable import InflightCore

/// One text as coded by other programs: Python's gzip (two members) and zlib (with and without its frame), libbrotli
/// and libzstd, which also codes it with a window of 16 MiB.
enum Samples {
    static let text = (0..<60).map { "line \($0): every URL in flight once\n" }.joined()

    static let gzip = coded(
        """
        H4sIAAAAAAACA4XSuwmFQBQG4dwqTgn+x7c1GAlWIKsuLCuIXLjdi7kw+UQfk2IOVo4WfuH62zJPFrNtKe7HbWdeQ5HeQBQ4
        BRUFNQUNBS0FHQU9BQNCMSVaCjGFmkJOoacQVCgqJBWaOpo6/4mmjqaOpo6m/mX6ADoFfgSEAwAAH4sIAAAAAAACA4XQMQ6C
        QBRF0Z5V/CUg8x4Ka7AicQVmcCYhQ2IMibu3tuH2pzrlE3t75m6rLcdwnSMf+f2Nx3KP2mLd6qv8iRuKiUTqUVxQDCgSCqEw
        ihEFniY8TXgqPBWeCk+Fp8JT4anwVHgqPBWeGk+Np8ZT46nx1HhqPDWeGk99dvoDXKdHZmoEAAA=
        """)
    static let framed = coded(
        """
        eNqF1clJBVEQQNG9UbwQrMkpBleCEUj7f0PTgohg9mICnv1dHWo49nNbt09r+94+f9bry/Paz/V+7Jfr1/o437ab4y8IBamg
        FLSCUXCn4F7Bg4JHQpmSlkHMoGaQM+gZBA2KBkmDpknT9HzSNGmaNE2aJk2TpknTpGnRtGhaXnqaFk2LpkXTomnRtGjaNG2a
        Nk3bl5SmTdOmadO0ado0HZoOTYemQ9Pxe6Lp0HRoOjSd/0x/AXPEnFM=
        """)
    static let unframed = coded(
        """
        hdXJSQVREEDRvVG8EKzJKQZXghFI+39D04KIYPZiAp79XR1qOPZzW7dPa/vePn/W68vz2s/1fuyX69f6ON+2m+MvCAWpoBS0
        glFwp+BewYOCR0KZkpZBzKBmkDPoGQQNigZJg6ZJ0/R80jRpmjRNmiZNk6ZJ06Rp0bRoWl56mhZNi6ZF06Jp0bRo2jRtmjZN
        25eUpk3TpmnTtGnaNB2aDk2HpkPT8Xui6dB0aDo0nf9MfwE=
        """)
    static let brotli = coded(
        """
        G+0HABwJ2ZnMrTiifQwlHRvGyh7H0k2pNLcEUWBCHByANDxKGmCiiQYesvVngkmm1VVvqJxv/Up0vslEIJLIFGoaWron6vwB
        o8lssbaxpctYBqPJbLG2saXLVAajyWyxtrGly1wGo8lssbaxpctSBqPJbLG2sa0e
        """)
    static let zstandard = coded(
        """
        KLUv/WDuBsUDAMLFERaQTQcYg4e5ttEGz+NRQmRKScF3KXABd3d3d3f///+/bdu23bZt25IkSZIFMQh3l8BS2qOihmHOohpT
        B5KoCVrSUkagVmNOPKgR4O//G7AzSgcRJAT/P0Kg8gNN13W+ihWqRtVTSC2qoXiaU+C6PUsLhQC2Cg==
        """)
    static let wideWindow = coded(
        """
        KLUv/QBwjAUAAoYSF5ArHUCX74WHL6i0Nnbb1lJKCU/d6aAE////v23btt22bduSJEmS27ZtIwwEgbsc1SkmqcRp0IOxKEZB
        p5DhgKCIoyBFBQDVKSY7ILAzSgeMjDcyo4w3sqOMNzKjjDeyUYw3slGON7JRjDeyUcYzslHGO7JRxjOyUcYbmVHGG9lRxhsZ
        R7nKeFaMrGqjUHW8KUYmtVGiOh4UIz9tNCeHwQU/nMEFP5zhwvF7gtsnAQAA
        """)

    private static func coded(_ lines: String) -> [UInt8] {
        Base64.decoded(Array(lines.utf8.filter { $0 != UInt8(ascii: "\n") })) ?? []
    }
}
