"""What the sensors of the example measure: the temperature at a place and an hour, in degrees Celsius."""

from __future__ import annotations

import math

RANGE = 40.0
"""Readings are between -RANGE and RANGE, and are sent divided by it."""


def temperature(sensor: int, hour: int) -> float:
    """The temperature at a sensor: days that are warm at the fourteenth hour, a front that passes, and a place with a heater."""
    day = 6.0 * math.cos((hour - 14) * math.pi / 12)
    front = -9.0 / (1.0 + math.exp(0.8 * (30 - hour - 0.2 * sensor)))
    heater = 8.0 * math.exp(-(((sensor - 14) / 3.0) ** 2))
    return 14.0 + day + front + heater
