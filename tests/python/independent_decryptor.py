"""Decrypts a ciphertext file by docs/file-format.md alone: nothing of Clathrate is imported.

    independent_decryptor.py CIPHERTEXT SECRET_KEY PARAMETERS OUTPUT

PARAMETERS is a JSON file: the degree (`degree`), the primes of each step (`steps`), the root of unity of each prime (`roots`, pairs).
OUTPUT becomes a .npy file of the numbers. It is written for reading: integers of any size, transforms and BLAKE3 from their definitions.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WORD = 2**64

# --- BLAKE3 (Section 2 of its specification)

INITIAL = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED = 1, 2, 4, 8, 16
# Columns, then diagonals of the state.
MIXED = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def compress(chaining: tuple[int, ...], block: tuple[int, ...], counter: int, length: int, flags: int) -> list[int]:
    """The compression function: 16 words of 32 bits."""
    mask = 0xFFFFFFFF
    state = [*chaining, *INITIAL[:4], counter & mask, counter >> 32, length, flags]
    for _ in range(7):
        for pair, (a, b, c, d) in enumerate(MIXED):
            for word, first, second in ((block[2 * pair], 16, 12), (block[2 * pair + 1], 8, 7)):
                state[a] = (state[a] + state[b] + word) & mask
                mixed = state[d] ^ state[a]
                state[d] = (mixed >> first | mixed << (32 - first)) & mask
                state[c] = (state[c] + state[d]) & mask
                mixed = state[b] ^ state[c]
                state[b] = (mixed >> second | mixed << (32 - second)) & mask
        block = tuple(block[i] for i in PERMUTATION)
    return [low ^ high for low, high in zip(state[:8], state[8:], strict=True)] + [
        high ^ own for high, own in zip(state[8:], chaining, strict=True)
    ]


@dataclass(frozen=True)
class Node:
    """A last compression, before it is known whether it is the root of the tree."""

    chaining: tuple[int, ...]
    block: tuple[int, ...]
    counter: int
    length: int
    flags: int

    def value(self) -> tuple[int, ...]:
        return tuple(compress(self.chaining, self.block, self.counter, self.length, self.flags)[:8])

    def output(self) -> Iterator[bytes]:
        """The output of the root without end, 64 bytes at a time."""
        counter = 0
        while True:
            yield struct.pack("<16I", *compress(self.chaining, self.block, counter, self.length, self.flags | ROOT))
            counter += 1


def blake3(message: bytes, key: bytes | None = None) -> Iterator[bytes]:
    """The output of BLAKE3, plain or keyed, 64 bytes at a time."""
    start = INITIAL if key is None else struct.unpack("<8I", key)
    base = 0 if key is None else KEYED

    def words(block: bytes) -> tuple[int, ...]:
        return struct.unpack("<16I", block.ljust(64, b"\0"))

    def chunk(data: bytes, counter: int) -> Node:
        chaining = start
        blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
        for i, block in enumerate(blocks[:-1]):
            flags = base | (CHUNK_START if i == 0 else 0)
            chaining = tuple(compress(chaining, words(block), counter, 64, flags)[:8])
        flags = base | CHUNK_END | (CHUNK_START if len(blocks) == 1 else 0)
        return Node(chaining, words(blocks[-1]), counter, len(blocks[-1]), flags)

    def tree(data: bytes, first: int) -> Node:
        chunks = -(-len(data) // 1024)
        if chunks <= 1:
            return chunk(data, first)
        # The left part has the largest power of two of chunks that leaves something to the right.
        left = 1 << (chunks - 1).bit_length() - 1
        values = tree(data[: 1024 * left], first).value() + tree(data[1024 * left :], first + left).value()
        return Node(start, values, 0, 64, base | PARENT)

    return tree(message, 0).output()


def digest(message: bytes, key: bytes | None = None) -> bytes:
    """The first 32 bytes of the output."""
    return next(blake3(message, key))[:32]


# --- Container


@dataclass(frozen=True)
class Container:
    """A checked file."""

    kind: int
    parameter_digest: bytes
    metadata: dict[str, Any]
    sections: dict[str, bytes]


def read_container(path: str) -> Container:
    """Reads a file and compares all checksums."""
    data = Path(path).read_bytes()
    assert data[:8] == b"CLATHRAT"
    version, kind = struct.unpack_from("<II", data, 8)
    flags, parameter_digest, metadata_length, count, length = struct.unpack_from("<Q32sQQQ", data, 16)
    assert version == 1
    assert flags in (0, 1)
    assert length == len(data)
    assert data[80:96] == bytes(16)
    table = data[length - 64 * count :]
    sections_start = -(-(128 + metadata_length) // 64) * 64
    assert data[96:128] == digest(data[:96] + data[128:sections_start] + table)
    sections, position = {}, sections_start
    for i in range(count):
        name, offset, size, checksum = struct.unpack_from("<16sQQ32s", table, 64 * i)
        assert offset == position
        section = data[offset : offset + size]
        assert digest(section) == checksum
        sections[name.rstrip(b"\0").decode("ascii")] = section
        position = -(-(offset + size) // 64) * 64
        assert not any(data[offset + size : position])
    assert position == length - 64 * count
    return Container(kind, parameter_digest, json.loads(data[128 : 128 + metadata_length]), sections)


# --- Polynomials modulo one prime


def values_of(coefficients: list[int], q: int, psi: int) -> list[int]:
    """The values at psi^(2 brv(i) + 1): X^m - psi^e splits into X^(m/2) - psi^(e/2) and X^(m/2) + psi^(e/2) = X^(m/2) - psi^(e/2 + n)."""
    n = len(coefficients)

    def split(part: list[int], exponent: int) -> list[int]:
        if len(part) == 1:
            return part
        half, root = len(part) // 2, pow(psi, exponent // 2, q)
        low, high = part[:half], [root * c % q for c in part[half:]]
        left = [(x + y) % q for x, y in zip(low, high, strict=True)]
        right = [(x - y) % q for x, y in zip(low, high, strict=True)]
        return split(left, exponent // 2) + split(right, exponent // 2 + n)

    return split([c % q for c in coefficients], n)


def coefficients_of(values: list[int], q: int, psi: int) -> list[int]:
    """The inverse of `values_of`."""
    n = len(values)

    def join(part: list[int], exponent: int) -> list[int]:
        if len(part) == 1:
            return part
        half = len(part) // 2
        left, right = join(part[:half], exponent // 2), join(part[half:], exponent // 2 + n)
        low, high = pow(2, -1, q), pow(2 * pow(psi, exponent // 2, q), -1, q)
        return [(x + y) * low % q for x, y in zip(left, right, strict=True)] + [
            (x - y) * high % q for x, y in zip(left, right, strict=True)
        ]

    return join(values, n)


def seed_message(label: bytes, domain: bytes, *indices: int) -> bytes:
    """What a seed is expanded for."""
    texts = b"".join(struct.pack("<Q", len(text)) + text for text in (label, domain))
    return texts + struct.pack(f"<{1 + len(indices)}Q", len(indices), *indices)


def derived_seed(seed: bytes, entry: int) -> bytes:
    """The seed of one entry of an evaluation key."""
    return digest(seed_message(b"clathrate seed 1", b"clathrate switch key entry v1", entry), seed)


def mask_row(seed: bytes, polynomial: int, prime_index: int, q: int, n: int) -> list[int]:
    """The row of a mask that a seed stands for."""
    message = seed_message(b"clathrate mask 1", b"clathrate mask v1", polynomial, prime_index)
    accepted, row = q * (WORD // q), []
    for block in blake3(message, seed):
        row += [word % q for word in struct.unpack("<8Q", block) if word < accepted]
        if len(row) >= n:
            return row[:n]
    raise AssertionError("the output has no end")


# --- Ciphertexts


@dataclass(frozen=True)
class Modulus:
    """The ring degree, and the primes of a ciphertext with their roots of unity."""

    degree: int
    primes: list[int]
    roots: list[int]

    @classmethod
    def at_level(cls, parameters: dict[str, Any], level: int) -> Modulus:
        roots = dict(parameters["roots"])
        primes = [q for step in parameters["steps"][: level + 1] for q in step]
        return cls(parameters["degree"], primes, [roots[q] for q in primes])

    def polynomials(self, section: bytes) -> list[list[tuple[int, ...]]]:
        """The polynomials of a section, each a row of values for each prime."""
        words = struct.unpack(f"<{len(section) // 8}Q", section)
        rows = [words[i : i + self.degree] for i in range(0, len(words), self.degree)]
        polynomials = [rows[i : i + len(self.primes)] for i in range(0, len(rows), len(self.primes))]
        assert all(word < q for polynomial in polynomials for row, q in zip(polynomial, self.primes, strict=True) for word in row)
        return polynomials

    def from_residues(self, residues: list[int]) -> int:
        """The integer of least magnitude with these residues."""
        product = 1
        for q in self.primes:
            product *= q
        value = sum(product // q * pow(product // q, -1, q) * residue for q, residue in zip(self.primes, residues, strict=True)) % product
        return value - product if value > product // 2 else value


def secret_polynomials(secret: Container, modulus: Modulus) -> list[list[list[int]]]:
    """The values of each secret polynomial, a row for each prime."""
    stored = secret.sections["secret"]
    coefficients = struct.unpack(f"<{len(stored)}b", stored)
    assert set(coefficients) <= {-1, 0, 1}
    parts = [list(coefficients[i : i + modulus.degree]) for i in range(0, len(coefficients), modulus.degree)]
    return [[values_of(part, q, psi) for q, psi in zip(modulus.primes, modulus.roots, strict=True)] for part in parts]


def masks_of(ciphertext: Container, modulus: Modulus, bundles: int, rank: int) -> list[list[list[Any]]]:
    """The mask of each bundle: `rank` polynomials, a row of values for each prime."""
    if not ciphertext.metadata["seeded"]:
        polynomials = modulus.polynomials(ciphertext.sections["masks"])
        assert len(polynomials) == bundles * rank
        return [polynomials[rank * t : rank * (t + 1)] for t in range(bundles)]
    stored = ciphertext.sections["seeds"]
    assert len(stored) == 32 * bundles
    seeds = [stored[32 * t : 32 * (t + 1)] for t in range(bundles)]
    primes = list(enumerate(modulus.primes))
    return [[[mask_row(seed, i, p, q, modulus.degree) for p, q in primes] for i in range(rank)] for seed in seeds]


def decrypted_coefficients(ciphertext: Container, secret: Container, modulus: Modulus) -> list[list[float]]:
    """The coefficients of each bundle's message, divided by the scale."""
    secrets = secret_polynomials(secret, modulus)
    bodies = modulus.polynomials(ciphertext.sections["bodies"])
    masks = masks_of(ciphertext, modulus, len(bodies), len(secrets))
    messages = []
    for body, mask in zip(bodies, masks, strict=True):
        rows = []
        for p, (q, psi) in enumerate(zip(modulus.primes, modulus.roots, strict=True)):
            phase = list(body[p])
            for a, s in zip(mask, secrets, strict=True):
                phase = [(b + x * y) % q for b, x, y in zip(phase, a[p], s[p], strict=True)]
            rows.append(coefficients_of(phase, q, psi))
        whole = [modulus.from_residues(list(column)) for column in zip(*rows, strict=True)]
        messages.append([value / ciphertext.metadata["scale"] for value in whole])
    return messages


def numbers(coefficients: list[float], capacity: int, encoding: str) -> np.ndarray:
    """The `capacity` numbers that a message holds."""
    if encoding == "coefficients":
        return np.array(coefficients[:capacity])
    assert encoding == "slots"
    gap = len(coefficients) // (2 * capacity)
    exponents = np.array([pow(5, j, 4 * capacity) for j in range(capacity)])
    powers = np.outer(exponents, np.arange(2 * capacity)) % (4 * capacity)
    return np.exp(1j * np.pi * powers / (2 * capacity)) @ np.array(coefficients[::gap])


def decrypt(ciphertext: Container, secret: Container, parameters: dict[str, Any]) -> np.ndarray:
    """The array that `ciphertext` holds."""
    metadata = ciphertext.metadata
    assert (ciphertext.kind, secret.kind) == (5, 2)
    assert ciphertext.parameter_digest == secret.parameter_digest
    assert metadata["key_id"] == secret.metadata["key_id"]
    modulus = Modulus.at_level(parameters, metadata["level"])
    shape = tuple(metadata["shape"])
    columns = shape[-1] if shape else 1
    most = modulus.degree if metadata["encoding"] == "coefficients" else min(modulus.degree // 2, 1 << (columns - 1).bit_length())
    parts = -(-columns // most)
    messages = decrypted_coefficients(ciphertext, secret, modulus)
    found = [numbers(message, most, metadata["encoding"]) for message in messages]
    rows = [np.concatenate(found[i : i + parts])[:columns] for i in range(0, len(found), parts)]
    array = np.array(rows).reshape(shape)
    return array if metadata["complex"] else array.real


def main() -> None:
    ciphertext, secret, parameters, output = sys.argv[1:]
    found = decrypt(read_container(ciphertext), read_container(secret), json.loads(Path(parameters).read_text()))
    assert not any(name.split(".")[0] == "clathrate" for name in sys.modules)
    np.save(output, found)


if __name__ == "__main__":
    main()
