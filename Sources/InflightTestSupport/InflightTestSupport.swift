// InflightTestSupport
