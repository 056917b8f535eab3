// The engine shows images, so its users see their types, too.
@_exported public import InflightImages
