// Decodes pictures for programs that use Inflight, in a process that can do nothing else: those formats that need libvips
// and the libraries behind it, which take long to load.

import InflightCore
import InflightSandbox
import InflightVips

DecoderService(codecs: [IsolatedCodec()], missing: { VipsPart.missing.map(\.rawValue).sorted() }) {
    () throws(LoadError) in try VipsDecoder.start()
}.run()
