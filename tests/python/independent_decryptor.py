"""Decrypts a ciphertext file by docs/file-format.md alone: nothing of Clathrate is imported.

    independent_decryptor.py CIPHERTEXT SECRET_KEY PARAMETERS OUTPUT

SECRET_KEY and PARAMETERS are those of the parameter set, whatever degree and rank the ciphertext has. PARAMETERS is a JSON file: `degree`,
`rank`, the primes of each step (`steps`), and the weight of the secret or null (`secret_weight`). OUTPUT becomes a .npy file of the
numbers. The program is written for reading: integers of any size; transforms, BLAKE3 and ChaCha20 from their definitions.
"""

from __future__ import annotations

import functools
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
CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED, DERIVE_CONTEXT, DERIVE_MATERIAL = 1, 2, 4, 8, 16, 32, 64
# Columns, then diagonals of the state.
MIXED = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def compress(chaining: tuple[int, ...], block: tuple[int, ...], counter: int, length: int, flags: int) -> list[int]:
    """The compression function: 16 words of 32 bits. Of arrays of words, it is that of each of them."""
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


def blake3(message: bytes, key: bytes | None = None, mode: int | None = None) -> Iterator[bytes]:
    """The output of BLAKE3, 64 bytes at a time: plain, keyed, or in another mode."""
    start = INITIAL if key is None else struct.unpack("<8I", key)
    base = mode if mode is not None else 0 if key is None else KEYED

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

    def complete(count: int) -> list[tuple[int, ...]]:
        """The values of the first `count` chunks, none of them the last, by compressions of arrays: faster than one by one for many."""
        all_words = np.frombuffer(message, "<u4", 256 * count).reshape(count, 16, 16).astype(np.uint64)
        chaining = tuple(np.full(count, word, np.uint64) for word in start)
        for i in range(16):
            flags = base | {0: CHUNK_START, 15: CHUNK_END}.get(i, 0)
            chaining = tuple(compress(chaining, tuple(all_words[:, i].T), np.arange(count, dtype=np.uint64), 64, flags)[:8])
        return [tuple(map(int, value)) for value in zip(*chaining, strict=True)]

    chunks = max(1, -(-len(message) // 1024))
    known = complete(chunks - 1) if chunks > 32 else []

    def last_node(first: int, count: int) -> Node:
        """The last compression of some chunks."""
        if count == 1:
            return chunk(message[1024 * first : 1024 * (first + 1)], first)
        # The left part has the largest power of two of chunks that leaves something to the right.
        left = 1 << (count - 1).bit_length() - 1
        return Node(start, value(first, left) + value(first + left, count - left), 0, 64, base | PARENT)

    def value(first: int, count: int) -> tuple[int, ...]:
        return known[first] if count == 1 and first < len(known) else last_node(first, count).value()

    return last_node(0, chunks).output()


@functools.cache  # One secret is read for many ciphertexts.
def digest(message: bytes, key: bytes | None = None) -> bytes:
    """The first 32 bytes of the output."""
    return next(blake3(message, key))[:32]


def derived_key(context: bytes, material: bytes) -> bytes:
    """The first 32 bytes of the key derivation mode."""
    context_key = next(blake3(context, mode=DERIVE_CONTEXT))[:32]
    return next(blake3(material, context_key, DERIVE_MATERIAL))[:32]


# --- ChaCha20 (RFC 8439, section 2.3)


@functools.cache
def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """64 bytes of the keystream."""
    mask = 0xFFFFFFFF
    initial = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, *struct.unpack("<3I", nonce)]
    state = initial.copy()
    for _ in range(10):
        # The same columns and diagonals as above.
        for a, b, c, d in MIXED:
            for x, y, z, left in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[x] = (state[x] + state[y]) & mask
                mixed = state[z] ^ state[x]
                state[z] = (mixed << left | mixed >> (32 - left)) & mask
    return struct.pack("<16I", *((x + y) & mask for x, y in zip(state, initial, strict=True)))


def secret_stream(key: bytes) -> Iterator[int]:
    """The bytes that secrets are drawn from: each refill takes 4096 bytes of keystream, of which the first 32 are the next key."""
    while True:
        keystream = b"".join(chacha20_block(key, counter, bytes(12)) for counter in range(64))
        key = keystream[:32]
        yield from keystream[32:]


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


# --- Secrets


def reversed_bits(index: int, size: int) -> int:
    """`index` with the log2(size) bits reversed."""
    return int(format(index, f"0{size.bit_length() - 1}b")[::-1], 2) if size > 1 else 0


def rearranged(secret: list[list[int]], degree: int, rank: int) -> list[list[int]]:
    """The same secret at another degree and rank."""
    n = len(secret[0])
    if degree <= n:
        gap = n // degree
        parts = [polynomial[reversed_bits(p, gap) :: gap] for polynomial in secret for p in range(gap)]
        return parts[:rank]
    gap = degree // n
    joined = []
    for first in range(0, rank * gap, gap):
        polynomial = [0] * degree
        for p in range(gap):
            polynomial[reversed_bits(p, gap) :: gap] = secret[first + p]
        joined.append(polynomial)
    return joined


def drawn(key: bytes, count: int, weight: int | None) -> list[int]:
    """`count` coefficients of a secret: uniform, or of a fixed weight."""
    stream = secret_stream(key)
    if weight is None:
        accepted = (byte for byte in stream if byte != 255)
        return [next(accepted) % 3 - 1 for _ in range(count)]
    while True:
        words = [int.from_bytes(bytes(next(stream) for _ in range(8)), "little") for _ in range(count)]
        tagged = sorted(2 * (word // 4) + (t < weight) for t, word in enumerate(words))
        if len({word // 4 for word in tagged}) == count:
            return [0 if word % 2 == 0 else 1 if word & 2 == 0 else -1 for word in tagged]


def body_secret(seed: bytes, body: int, bodies: int, parameters: dict[str, Any]) -> list[list[int]]:
    """The secret of one of several bodies, at the degree and rank of the parameter set."""
    n, k = parameters["degree"], parameters["rank"]
    key = derived_key(b"clathrate named secret v1", seed + f"body {body} of {bodies} at {n}x{k}".encode("ascii"))
    coefficients = drawn(key, n * k, parameters["secret_weight"])
    return [coefficients[i : i + n] for i in range(0, n * k, n)]


def secrets_of(name: str, secret: Container, parameters: dict[str, Any], degree: int, rank: int) -> list[list[list[int]]]:
    """The secret of each body under the secret `name`: the coefficients of its `rank` polynomials."""
    stored = secret.sections["secret"]
    main = struct.unpack(f"<{len(stored)}b", stored)
    assert set(main) <= {-1, 0, 1}
    n, seed = parameters["degree"], secret.sections["seed"]
    assert (len(main), len(seed)) == (n * parameters["rank"], 32)
    kind, _, rest = name.partition(":")
    if kind == "main":
        found = [[list(main[i : i + n]) for i in range(0, len(main), n)]]
    elif kind == "bodies":
        found = [body_secret(seed, body, int(rest), parameters) for body in range(int(rest))]
    else:
        assert kind == "body"
        index, _, count = rest.partition("/")
        found = [body_secret(seed, int(index), int(count), parameters)]
    return [rearranged(one, degree, rank) for one in found]


# --- Layouts


@dataclass(frozen=True)
class Layout:
    """Which number is where."""

    rows: int
    columns: int
    encoding: str
    degree: int
    capacity: int
    chunks: int
    complex: bool = False
    paired: bool = False
    components: int = 1
    lanes: int = 1
    copies: int = 1
    bodies: int = 1
    axis: str = "chunks"
    order: str = "natural"
    padding: str = "zero"

    def __post_init__(self) -> None:
        assert self.encoding in ("slots", "coefficients")
        assert self.axis in ("chunks", "rows")
        assert self.order in ("natural", "bit-reversed")
        assert self.padding in ("zero", "dirty")
        assert self.chunks == -(-self.columns // self.capacity)
        if self.lanes > 1:
            assert self.components == 1
            assert self.chunks == 1
        if self.encoding == "slots":
            assert self.lanes * self.capacity * self.copies <= self.degree // 2
        elif self.lanes > 1:
            assert not self.complex
            assert self.lanes * self.capacity <= self.degree
        assert not self.paired or (self.encoding == "coefficients" and not self.complex and self.lanes == 1)
        assert self.copies == 1 or self.encoding == "slots"

    def row_groups(self) -> int:
        """Groups of rows that share polynomials."""
        return -(-self.rows // self.lanes)

    def numbers_in(self, chunk: int) -> int:
        return min(self.capacity, self.columns - chunk * self.capacity)

    def bundles(self) -> list[tuple[int, int, int]]:
        """Line, group and component of each bundle, in their order."""
        lines = self.row_groups() if self.axis == "chunks" else -(-self.row_groups() // self.bodies)
        groups = self.chunks if self.axis == "rows" else -(-self.chunks // self.bodies)
        found = []
        for line in range(lines):
            for group in range(groups):
                stored = self.components
                if self.order == "natural" and not self.complex:
                    first = group if self.axis == "rows" else group * self.bodies
                    stored = min(stored, self.numbers_in(first))
                found += [(line, group, component) for component in range(stored)]
        return found

    def row_and_chunk(self, line: int, group: int, body: int) -> tuple[int, int] | None:
        """What a body holds, a group of rows and a chunk, where the array has it."""
        row, chunk = (line, group * self.bodies + body) if self.axis == "chunks" else (line * self.bodies + body, group)
        return (row, chunk) if row < self.row_groups() and chunk < self.chunks else None

    def read(self, whole: list[float], chunk: int, lane: int) -> np.ndarray:
        """The numbers of a chunk, from the coefficients of its polynomial of degree W."""
        indices = [t if self.order == "natural" else reversed_bits(t, self.capacity) for t in range(self.numbers_in(chunk))]
        if self.encoding == "slots":
            rows = slots_of(whole, self.lanes * self.capacity * self.copies).reshape(self.lanes, self.capacity, self.copies)
            return rows[lane, indices, 0]
        room = len(whole) // 2 if self.complex or self.paired else len(whole)
        stride, coefficients = room // self.capacity, np.array(whole)
        real = coefficients[[stride * p + lane for p in indices]]
        return real + 1j * coefficients[[stride * p + room for p in indices]] if self.complex else real


def slots_of(coefficients: list[float], capacity: int) -> np.ndarray:
    """The slots of a polynomial, which repeat with the period `capacity`."""
    gap = len(coefficients) // (2 * capacity)
    exponents = np.array([pow(5, j, 4 * capacity) for j in range(capacity)])
    powers = np.outer(exponents, np.arange(2 * capacity)) % (4 * capacity)
    return np.exp(1j * np.pi * powers / (2 * capacity)) @ np.array(coefficients[::gap])


# --- Ciphertexts


def root_of_unity(q: int, degree: int) -> int:
    """psi of the prime q."""
    return next(psi for psi in (pow(g, (q - 1) // (2 * degree), q) for g in range(2, q)) if pow(psi, degree, q) == q - 1)


@dataclass(frozen=True)
class Modulus:
    """The ring degree, and the primes of a ciphertext with their roots of unity."""

    degree: int
    primes: list[int]
    roots: list[int]

    @classmethod
    def at_level(cls, parameters: dict[str, Any], level: int, degree: int) -> Modulus:
        primes = [q for step in parameters["steps"][: level + 1] for q in step]
        return cls(degree, primes, [root_of_unity(q, degree) for q in primes])

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


def decrypted_coefficients(ciphertext: Container, secrets: list[list[list[int]]], modulus: Modulus) -> list[list[list[float]]]:
    """The coefficients of each message, bundle by bundle and body by body, divided by the scale. `secrets` has one secret for each body."""
    primes = list(zip(modulus.primes, modulus.roots, strict=True))
    secret_values = [[[values_of(polynomial, q, psi) for q, psi in primes] for polynomial in secret] for secret in secrets]
    stored = modulus.polynomials(ciphertext.sections["bodies"])
    bundles = [stored[i : i + len(secrets)] for i in range(0, len(stored), len(secrets))]
    masks = masks_of(ciphertext, modulus, len(bundles), len(secrets[0]))

    def message(body: list[tuple[int, ...]], mask: list[list[Any]], secret: list[list[list[int]]]) -> list[float]:
        rows = []
        for p, (q, psi) in enumerate(primes):
            phase = list(body[p])
            for a, s in zip(mask, secret, strict=True):
                phase = [(b + x * y) % q for b, x, y in zip(phase, a[p], s[p], strict=True)]
            rows.append(coefficients_of(phase, q, psi))
        whole = [modulus.from_residues(list(column)) for column in zip(*rows, strict=True)]
        return [value / ciphertext.metadata["scale"] for value in whole]

    return [
        [message(body, mask, secret) for body, secret in zip(bodies, secret_values, strict=True)]
        for bodies, mask in zip(bundles, masks, strict=True)
    ]


def decrypt(ciphertext: Container, secret: Container, parameters: dict[str, Any]) -> np.ndarray:
    """The array that `ciphertext` holds."""
    metadata = ciphertext.metadata
    assert (ciphertext.kind, secret.kind) == (5, 2)
    assert metadata["key_id"] == secret.metadata["key_id"]
    degree, rank = parameters["degree"], parameters["rank"]
    if "relative" in metadata:
        degree, rank = (int(number) for number in metadata["relative"].split("x"))
    else:
        assert ciphertext.parameter_digest == secret.parameter_digest
    layout, shape = Layout(**metadata["layout"]), tuple(metadata["shape"])
    assert (layout.degree, layout.columns) == (degree, shape[-1] if shape else 1)
    secrets = secrets_of(metadata["secret"], secret, parameters, degree, rank)
    assert len(secrets) == layout.bodies
    messages = decrypted_coefficients(ciphertext, secrets, Modulus.at_level(parameters, metadata["level"], degree))
    # The polynomial of degree W of each row and chunk, put together from its components.
    wholes = {(row, chunk): [0.0] * (degree * layout.components) for row in range(layout.row_groups()) for chunk in range(layout.chunks)}
    for (line, group, component), bodies in zip(layout.bundles(), messages, strict=True):
        for body, coefficients in enumerate(bodies):
            held = layout.row_and_chunk(line, group, body)
            if held is not None:
                wholes[held][component :: layout.components] = coefficients
            else:
                # A body that holds no number holds zero, up to noise.
                assert max(map(abs, coefficients)) < 2**16 / metadata["scale"]
    rows = []
    for row in range(layout.rows):
        group, lane = divmod(row, layout.lanes)
        rows.append(np.concatenate([layout.read(wholes[group, chunk], chunk, lane) for chunk in range(layout.chunks)]))
    array = np.array(rows).reshape(shape)
    return array if layout.complex else array.real


def main() -> None:
    ciphertext, secret, parameters, output = sys.argv[1:]
    found = decrypt(read_container(ciphertext), read_container(secret), json.loads(Path(parameters).read_text()))
    assert not any(name.split(".")[0] == "clathrate" for name in sys.modules)
    np.save(output, found)


if __name__ == "__main__":
    main()
