"""Reports on parameters: what they mean in numbers, and how each level switches keys."""

from __future__ import annotations

from typing import Any, final

from .._reports import Report


@final
class Explanation(Report):
    """What a parameter set means in numbers: security, sizes, expected precision.

    `Params.explain()` makes it; print it, or read the figures from `to_dict()`.

    Examples
    --------
    >>> print(params.explain())  # doctest: +ELLIPSIS
    insecure_small...
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The figures by name.

        Returns
        -------
        dict
            Names that start with `log2_` or end in `_bits` are in bits, names that end in `_mib` in MiB. The dict can be written as JSON.

        Examples
        --------
        >>> figures = params.explain().to_dict()
        >>> figures["degree"], figures["slot_count"]
        (1024, 512)
        """
        return self._dict()


@final
class SwitchingReport(Report):
    """How each level of a parameter set switches keys, with predicted times and memory.

    Key switching is the step that ends every product of ciphertexts, rotation and conjugation; `Runtime` explains its two methods.
    `Params.switching_report()` makes the report. Print it for a table with a legend, or read its `rows`.

    Examples
    --------
    >>> report = params.switching_report()
    >>> report.rows[-1]["level"], report.rows[-1]["method"]
    (5, 'hybrid')
    """

    __slots__ = ()

    def explain(self) -> str:
        """The report as text: a table with one line per level, its legend, the memory limits, and where the predicted times come from.

        Returns
        -------
        str
            What `print(report)` prints.

        Examples
        --------
        >>> "special primes of the switch" in params.switching_report().explain()
        True
        """
        return self._text

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per level, lowest level first.

        The keys: `level`; `method`, "hybrid" or "klss"; `as_made`, whether the key is used as it is stored in its file; `r`, the number of
        special primes; `digits`, the number of digits that a polynomial is cut into; `log2_digit`, the bits of the longest digit;
        `milliseconds`, the predicted time with one thread; `read_bytes`, the bytes of key that one switch reads; `derived_bytes`, the bytes
        derived from one key for this level. For the KLSS method also `r_tilde`, the primes per key digit; `key_digits`, the number of
        digits that the key is cut into; `auxiliary`, the number of auxiliary primes that the products are computed modulo. They are None
        for the hybrid method.
        """
        rows: list[dict[str, Any]] = self._dict()["rows"]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """All figures by name.

        Returns
        -------
        dict
            `rows` as above; names that end in `_bytes` are in bytes. `origin` says where the machine model behind the predicted times comes
            from: "built-in", or "measured" by `tune`. `refused` lists the levels that cannot switch with the method that the runtime
            fixes, each with the reason. `temporary` is the report of the temporary rank, where the parameters have one.

        Examples
        --------
        >>> params.switching_report().to_dict()["key_level"]
        5
        """
        return self._dict()
