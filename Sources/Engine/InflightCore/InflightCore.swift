// The engine's API uses the types of images, so its users need them too.
@_exported public import InflightImages
