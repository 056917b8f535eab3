// InflightFoundation
