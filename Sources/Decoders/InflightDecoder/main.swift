// The sandboxed decoder process for the formats that have small libraries of their own.

import InflightCodecs
import InflightSandbox

DecoderService(codecs: Codecs.standard).run()
