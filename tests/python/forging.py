"""Files with changed contents and valid checksums, as anyone can write them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from independent_decryptor import digest


def parsed(data: Any) -> tuple[bytes, dict[str, Any], dict[str, bytes]]:
    """Header, metadata and sections of a file."""
    data = bytes(data)
    *_, length, count, total = struct.unpack_from("<8sIIQ32sQQQ", data)
    sections = {}
    for entry in range(total - 64 * count, total, 64):
        name, offset, size = struct.unpack_from("<16sQQ", data, entry)
        sections[name.rstrip(b"\0").decode()] = data[offset : offset + size]
    return data[:96], json.loads(data[128 : 128 + length]), sections


def forged(data: Any, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> bytes:
    """The file with changed metadata and sections, and with valid checksums, which need no key."""
    head, metadata, sections = parsed(data)
    change(metadata, sections)

    def padded(part: bytes) -> bytes:
        return part + b"\0" * (-len(part) % 64)

    text = json.dumps(metadata, separators=(",", ":")).encode()
    body, table = padded(b"\0" * 128 + text), b""
    meta_end = len(body)
    for name, section in sections.items():
        table += struct.pack("<16sQQ", name.encode(), len(body), len(section)) + digest(section)
        body += padded(section)
    header = head[:56] + struct.pack("<QQQ", len(text), len(sections), len(body) + len(table)) + head[80:96]
    return header + digest(header + body[128:meta_end] + table) + body[128:] + table
