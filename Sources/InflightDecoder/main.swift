// Decodes pictures for programs that use Inflight, in a process that can do nothing else.

import InflightCodecs
import InflightSandbox

DecoderService(codecs: Codecs.standard).run()
