// Every part of the command uses the streams, texts and files that it shares with `inflight-lab`.
@_exported public import InflightFiles
@_exported public import InflightPrograms
