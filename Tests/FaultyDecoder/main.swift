// A decoder as the shipping one, in the same sandbox, that does to order what decoders must not.

import InflightCodecs
import InflightSandbox

DecoderService(codecs: [FaultyCodec()] + Codecs.standard).run()
