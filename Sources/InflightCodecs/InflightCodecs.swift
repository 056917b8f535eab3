// InflightCodecs
