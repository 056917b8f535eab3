// Decodes pictures for programs that use Inflight, in a process that can do nothing else: those formats that have small
// libraries of their own.

import InflightCodecs
import InflightSandbox

DecoderService(codecs: Codecs.standard).run()
