@_exported public import InflightConcurrency
@_exported public import InflightCore
