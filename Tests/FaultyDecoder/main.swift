// A decoder like the shipped one, in the same sandbox, that misbehaves on command.

import InflightCodecs
import InflightSandbox

DecoderService(codecs: [FaultyCodec()] + Codecs.standard).run()
