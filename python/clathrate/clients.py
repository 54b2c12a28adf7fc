"""Light clients, which send encrypted numbers in few bytes, and what a server and an owner need for them."""

from ._inbox import Batch, Inbox
from ._light import LightClient, Receiver

__all__ = [
    "Batch",
    "Inbox",
    "LightClient",
    "Receiver",
]
