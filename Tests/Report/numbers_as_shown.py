"""A second implementation of the page's number formats, to compare shown texts with their exact values."""

import math
from decimal import ROUND_HALF_UP, Decimal


def rounded(value, digits):
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def short(value):
    if value < 9.995:
        return rounded(value, 2)
    return rounded(value, 1) if value < 99.95 else rounded(value, 0)


def grouped(number):
    return f"{number:,}"


def time_text(us):
    if us < 1000:
        return f"{us} µs"
    if us < 999500:
        return f"{short(us / 1e3)} ms"
    if us < 119.5e6:
        return f"{short(us / 1e6)} s"
    seconds = math.floor(us / 1e6 + 0.5)
    if seconds < 7200:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def bytes_text(count):
    if count < 1000:
        return f"{count} B"
    value, unit = count / 1000, 0
    while value >= 999.5 and unit < 4:
        value, unit = value / 1000, unit + 1
    return f"{short(value)} {['kB', 'MB', 'GB', 'TB', 'PB'][unit]}"


SHOWN = {"n": grouped, "us": time_text, "B": bytes_text}
