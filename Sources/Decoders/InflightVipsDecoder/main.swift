// The sandboxed decoder process for the formats that need libvips and its dependencies, which take long to load.

import InflightCore
import InflightSandbox
import InflightVips

DecoderService(codecs: [IsolatedCodec()], missing: { VipsPart.missing.map(\.rawValue).sorted() }) {
    () throws(LoadError) in try VipsDecoder.start()
}.run()
