// InflightCurl
