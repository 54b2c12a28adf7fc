"""The key of the owner of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, cast, final, overload

from . import _native as native
from ._assume import warn_insecure, warn_unbounded
from ._ciphertext import Ciphertext
from ._evaluation_keys import EvaluationKeys
from ._keys import AuthenticationKey, PublicKey
from ._params import Params
from ._program import ForOwner, mapped_results
from ._reading import numbers
from ._stored import Movable, Owned
from ._wrapping import unwrap
from .errors import WrongParamsError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._needs import Needs
    from ._transposed import TransposedCiphertext
    from ._typing import AnyPath, BodyAxis, Encoding, Order, Progress


@final
class SecretKey(Movable, Owned, of=native.SecretKey):
    """The key of the owner of the data: it encrypts, decrypts, and makes the other keys.

    `SecretKey.generate(params)` makes one. It is never printed, and `pickle` and `copy` refuse it; only `save` writes it to a file.

    Examples
    --------
    >>> key = cl.SecretKey.generate(params)
    >>> key.decrypt(key.encrypt([1.0, 2.0])).round(4)
    array([1., 2.])
    """

    __slots__ = ()
    _native: native.SecretKey

    @classmethod
    def generate(cls, params: Params | ForOwner) -> SecretKey:
        """A fresh secret key from the randomness of the operating system.

        Parameters
        ----------
        params : Params, Program or OwnerPart
            The parameters, or a program, which has some.

        Returns
        -------
        SecretKey
            The key.

        Raises
        ------
        RandomError
            Where the operating system gives no randomness.

        Warns
        -----
        InsecureWarning
            Where the parameters have less than 128 bits of security.

        Examples
        --------
        >>> key = cl.SecretKey.generate(params)
        """
        params = params if isinstance(params, Params) else params.params
        made = cls._of(native.SecretKey.generate(unwrap(params)))
        warn_insecure(params.security_bits)
        return made

    @overload
    def encrypt(
        self,
        array: ArrayLike,
        encoding: Encoding | None = None,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        progress: Progress = None,
        *,
        bodies: SupportsIndex | None = None,
        axis: BodyAxis | None = None,
        capacity: SupportsIndex | None = None,
        lanes: SupportsIndex | Literal["most"] | None = None,
        copies: SupportsIndex | None = None,
        order: Order = "natural",
        bound: float | None = None,
    ) -> Ciphertext: ...
    @overload
    def encrypt(self, array: ForOwner, *arrays: ArrayLike) -> Any: ...
    def encrypt(
        self,
        array: ArrayLike | ForOwner,
        encoding: Any = None,
        level: Any = None,
        scale: Any = None,
        progress: Any = None,
        *others: ArrayLike,
        bodies: SupportsIndex | None = None,
        axis: BodyAxis | None = None,
        capacity: SupportsIndex | None = None,
        lanes: SupportsIndex | Literal["most"] | None = None,
        copies: SupportsIndex | None = None,
        order: Order = "natural",
        bound: float | None = None,
    ) -> Any:
        """Encrypts an array; the ciphertext has its shape. `encrypt(program, x, y)` encrypts the inputs of a program.

        Parameters
        ----------
        array : array_like, Program or OwnerPart
            Numbers of any numeric type and memory layout, at most six axes; or a program, which is followed by an array for each of its
            inputs and states how they are encrypted.
        encoding : {"slots", "coefficients"}, optional
            How numbers are placed in polynomials. "slots" holds n / 2 complex numbers per polynomial, for products element by element and
            rotations. "coefficients" holds n real or n / 2 complex numbers, for sums, products with plain numbers and `W @ ct`. None, the
            default, takes coefficients for real matrices and slots for everything else.
        level : int, optional
            The level, 0 to `params.max_level`: the number of rescales that the ciphertext allows. A lower level is smaller and faster.
            None, the default, is the highest level of `params.application_levels`, or `params.max_level` without them.
        scale : float, optional
            The factor that numbers are multiplied by before they are rounded. None, the default, is the canonical scale of the level.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
        *others : array_like
            Further inputs of a program.
        bodies : int, optional
            How many polynomials share a mask, 1 to 4096. The array takes less memory, and operations on the mask serve all of them;
            products of such arrays with each other are refused. The array is under a secret of its own, "bodies:" and the number. None,
            the default, is one, under the secret "main".
        axis : {"rows", "chunks"}, optional
            Which polynomials share a mask. "rows" are consecutive rows of the array, so that rotations serve several rows. "chunks" are
            consecutive polynomials of one row, so that `W @ ct` multiplies one mask for the whole row. None, the default, takes chunks
            where a row needs several polynomials, and rows otherwise.
        capacity : int, optional
            The most numbers in one polynomial, a power of two. Slots repeat with this period; coefficients are spread evenly. None, the
            default, is the length of a row rounded up to a power of two in slots, and all coefficients.
        lanes : int or "most", optional
            How many consecutive rows share a polynomial, a power of two, where rows of slots or of real coefficients are shorter than a
            polynomial. "most" is as many as there is room for. Such arrays are much smaller, and operations on them faster. In slots rows
            lie one behind the other. In coefficients they alternate, as prepared matrices want them, and `to_mlwe` takes them apart.
            None, the default, is one row in a polynomial, and "most" for arrays of more than two axes in slots.
        copies : int, optional
            How many neighbouring slots hold each number, a power of two. Only for arrays that are combined with sums of rows that share
            polynomials: their `layout` says how many. None, the default, is 1.
        order : {"natural", "bit-reversed"}, optional
            The order of the numbers in a polynomial. "bit-reversed" puts number j at the place whose bits are those of j reversed. The
            default is "natural".
        bound : float, optional
            The largest magnitude that the numbers may have; larger ones are refused. Results have bounds (`Ciphertext.bound`), and what
            might wrap around is refused before it is computed. It is public: it is in files, and nothing is taken from the numbers
            themselves. With a bound the time of an encryption does not depend on the numbers; without, it shows whether the largest one is
            too large for double precision to serve. None, the default, is no bound.

        Returns
        -------
        Ciphertext or list of Ciphertext
            The encrypted array, without evaluation keys; for a program with several inputs a list of them.

        Raises
        ------
        DataError
            Where numbers are NaN, infinite or too large, there are none, or there are more than six axes; for a number of bodies, a
            capacity, lanes or copies out of range, and for another axis or order; for numbers above the bound, and a bound without room.
        TypeError
            Where the entries are no numbers.
        LevelError
            Where there is no such level.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        CancelledError
            Where the progress function returned False.

        Warns
        -----
        InsecureWarning
            Where the parameters have less than 128 bits of security.

        Examples
        --------
        >>> secret_key.encrypt(np.zeros((3, 4))).encoding
        'coefficients'
        >>> (secret_key.encrypt([1.0, 2.0], bound=10.0) + 5).bound
        15.0
        >>> secret_key.encrypt(np.zeros((3, 4)), bodies=3).layout
        1024 real numbers in coefficients of degree 1024, 3 rows under one mask
        """
        warn_insecure(self.params.security_bits)
        if isinstance(array, ForOwner):
            stated: dict[str, Any] = {
                "bodies": bodies,
                "axis": axis,
                "capacity": capacity,
                "lanes": lanes,
                "copies": copies,
                "bound": bound,
            }
            stated["order"] = None if order == "natural" else order
            return array._encrypted(self.encrypt, (encoding, level, scale, progress, *others), **stated)
        if others:
            raise TypeError("`encrypt` takes several arrays for a program alone: encrypt each by a call of its own")
        if bound is None:
            warn_unbounded()
        return Ciphertext._of(
            self._native.encrypt(
                numbers(array),
                encoding,
                level,
                scale,
                progress,
                bodies=bodies,
                axis=axis,
                capacity=capacity,
                lanes=lanes,
                copies=copies,
                order=order,
                bound=bound,
            )
        )

    @overload
    def decrypt(self, ciphertext: Ciphertext | TransposedCiphertext, progress: Progress = None) -> NDArray[Any]: ...
    @overload
    def decrypt(self, ciphertext: Sequence[Any] | Mapping[str, Any], progress: Progress = None) -> Any: ...
    def decrypt(self, ciphertext: Any, progress: Progress = None) -> Any:
        """Decrypts a ciphertext to an array, or each of several, for the owner of the key alone.

        The result has a small error, and the error depends on the secret. Neither the numbers nor whether decryption failed may reach
        whoever computed the ciphertext, or its friends: with changed ciphertexts, each that is read or refused gives a part of the key
        away. To show the numbers to others, use `decrypt_to_share`.

        Parameters
        ----------
        ciphertext : Ciphertext or TransposedCiphertext
            A ciphertext under this secret, at any degree and rank that the parameters lead to; or several in lists, tuples and
            dictionaries, as programs return them.
        progress : bool or callable, optional
            As `encrypt` takes it.

        Returns
        -------
        numpy.ndarray
            The numbers, of the shape of the ciphertext: float64, or complex128 where the encrypted numbers were complex. For several
            ciphertexts the arrays in the same lists, tuples and dictionaries.

        Raises
        ------
        WrongParamsError
            Where the ciphertext has other parameters.
        WrongSecretError
            Where the ciphertext belongs to another secret.
        DataError
            Where the numbers have visibly outgrown the modulus.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> secret_key.decrypt(ct + 1).round(4)
        array([2., 3., 4.])
        """
        return mapped_results(lambda own: self._native.decrypt(unwrap(own), progress), ciphertext)

    def decrypt_to_share(
        self,
        ciphertext: Ciphertext | TransposedCiphertext,
        flood_bits: SupportsIndex,
        progress: Progress = None,
        *,
        honest_evaluator: bool = False,
    ) -> NDArray[Any]:
        """Decrypts a ciphertext with noise on top, for results of an honest server that others will see.

        Noise protects results of a server that computed what was asked. A server that did not can add multiples of the secret to its
        result and read them in the numbers, or from whether they came; the numbers look right all the same, and noise does not help. So
        the call takes your word, `honest_evaluator=True`. Where you cannot give it, compute the result again, or have a second server do
        so, and compare (`Ciphertext.same_as`), or show nobody the numbers.

        The error of a decryption depends on the secret, so publishing exact decryptions leaks it. Here noise, uniform in [-2**(flood_bits -
        1), 2**(flood_bits - 1)), is added to each scaled coefficient. `Ciphertext.flood_bits` says how many bits that takes: it counts the
        error, the coefficients and all decryptions that will be shared. Do not choose the number without it. A key counts its shared
        results where it was given a number of them (`with_share_budget`); for others you have to.

        Parameters
        ----------
        ciphertext : Ciphertext or TransposedCiphertext
            As `decrypt` takes it.
        flood_bits : int
            The bits of noise, 1 to 118. `Ciphertext.flood_bits` computes them from a bound on the error.
        progress : bool or callable, optional
            As `encrypt` takes it.
        honest_evaluator : bool, optional
            Your word that the ciphertext is what you asked to be computed. Without it, the default, nothing is shared.

        Returns
        -------
        numpy.ndarray
            The numbers, of the shape of the ciphertext.

        Raises
        ------
        ClathrateError
            As `decrypt`.
        DataError
            Without `honest_evaluator=True`; where `flood_bits` is out of range, or the budget of shared results is spent.
        FileAccessError
            Where the count of shared results cannot be written to the file of the key.
        CancelledError
            Where the progress function returned False. The result is counted all the same.

        Examples
        --------
        >>> secret_key.decrypt_to_share(ct, flood_bits=20, honest_evaluator=True).round(3)
        array([1., 2., 3.])
        """
        numbers = self._native.decrypt_to_share(unwrap(ciphertext), flood_bits, progress, honest_evaluator=honest_evaluator)
        return cast("NDArray[Any]", numbers)

    def authentication_key(self) -> AuthenticationKey:
        """The key by which a server knows what this owner's light clients send: always the same one.

        Returns
        -------
        AuthenticationKey
            For `Receiver`, `Inbox` and `clathrate pack`. It decrypts nothing, but whoever has it can send numbers in the name of every
            client.

        Examples
        --------
        >>> secret_key.authentication_key().key_id == secret_key.key_id
        True
        """
        return AuthenticationKey._of(self._native.authentication_key())

    def public_key(self) -> PublicKey:
        """A public key: whoever has it can encrypt for this secret key, at any level.

        Returns
        -------
        PublicKey
            A fresh public key.

        Raises
        ------
        RandomError
            Where the operating system gives no randomness.

        Examples
        --------
        >>> secret_key.public_key().key_id == secret_key.key_id
        True
        """
        return PublicKey._of(self._native.public_key())

    def evaluation_keys(self, needs: Needs, progress: Progress = None) -> EvaluationKeys:
        """The evaluation keys of a computation: exactly those that `needs` states.

        Parameters
        ----------
        needs : Needs
            What the computation does: products, rotations, conjugation, changes of rank. `trace` finds it out for a function.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (keys done, keys in all) and may return False to stop.

        Returns
        -------
        EvaluationKeys
            The keys; they may be given to whoever computes.

        Raises
        ------
        ParamsError
            Where the parameters have no special primes, no temporary rank for `power_rotations`, or not the ranks that are asked for.
        LevelError
            Where the level that is asked for does not exist.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> secret_key.evaluation_keys(cl.keys.Needs(rotations=[1, 2])).rotations
        [1, 2]
        """
        return EvaluationKeys._of(self._native.evaluation_keys(unwrap(needs), progress))

    def keys_for(
        self, function: Callable[..., Any], *shapes: Sequence[SupportsIndex], progress: Progress = None, **options: Any
    ) -> EvaluationKeys:
        """The evaluation keys that a function of encrypted arrays needs, found by a dry run.

        `keys_for(f, shape)` is `evaluation_keys(cl.plans.trace(f, shape, params=key.params).needs)`. Use `trace` to see time and bytes
        before keys are made, and for functions that bootstrap by themselves: its `bootstrap_below` is needed, too.

        Parameters
        ----------
        function : callable
            The computation, as `trace` takes it: it gets one array for each shape.
        *shapes : sequence of int or Input
            The shapes of the arrays.
        progress : bool or callable, optional
            As `evaluation_keys` takes it.
        **options
            How the arrays are encrypted: the keywords of `trace`, such as `level`, and `encoding`, which matrices in slots have to be
            given.

        Returns
        -------
        EvaluationKeys
            The keys. `keys | other` joins sets of several functions.

        Raises
        ------
        ClathrateError
            As `trace` and `evaluation_keys`.

        Examples
        --------
        >>> f = lambda x, y: x.dot(y)
        >>> keys = secret_key.keys_for(f, (4,), (4,))
        >>> keys.rotations, keys.has_relinearisation
        ([1, 2], True)
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
        >>> float(secret_key.decrypt(f(x, x)).round(4))
        30.0
        """
        # Dry runs take everything that encrypts.
        from ._trace import trace

        if "params" in options:
            raise TypeError("`keys_for` takes no `params`: the secret key has its own")
        found = trace(function, *shapes, params=self.params, **options)
        return self.evaluation_keys(found.needs, progress)

    def keys(self, program: ForOwner, progress: Progress = None) -> EvaluationKeys:
        """The evaluation keys of a program.

        Parameters
        ----------
        program : Program or OwnerPart
            The program, under this key's parameters.
        progress : bool or callable, optional
            As `evaluation_keys` takes it.

        Returns
        -------
        EvaluationKeys
            The keys. `keys | other` joins sets of several programs.

        Raises
        ------
        WrongParamsError
            Where the program has other parameters: generate a key for the program, or compile with `params=key.params`.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> program = cl.compile(lambda x: x * x, cl.Input((10,), bound=2.0))
        >>> cl.SecretKey.generate(program).keys(program).has_relinearisation
        True
        """
        if program.params != self.params:
            raise WrongParamsError(
                f'the program has the parameters "{program.params.name}", and the secret key has other ones, "{self.params.name}": '
                "generate a key for the program, `SecretKey.generate(program)`, or compile it with `params=secret_key.params`"
            )
        return self.evaluation_keys(program.needs, progress)

    def relative(self, params: Params) -> SecretKey:
        """The same secret at another degree and rank, to encrypt there.

        To decrypt it is not needed: `decrypt` takes ciphertexts of every degree and rank that these parameters lead to.

        The key is as secret as this one, also where it is smaller: it holds the seed that all devices', bodies' and packing secrets of this
        owner are drawn from, and the authentication key. It is no key to give to somebody else. What a device gets is `LightClient`.

        Parameters
        ----------
        params : Params
            What `params.relative(...)`, `params.at_rank(...)` or `params.rlwe()` gave.

        Returns
        -------
        SecretKey
            The same secret there.

        Raises
        ------
        WrongParamsError
            Where these are not parameters that this key's parameters lead to, or degree times rank is larger.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> key = cl.SecretKey.generate(four)
        >>> key.decrypt(key.relative(four.rlwe()).encrypt([1.0, 2.0])).round(4)
        array([1., 2.])
        """
        return SecretKey._of(self._native.relative(unwrap(params)))

    def with_outside_secret(self, number: SupportsIndex, coefficients: Sequence[SupportsIndex]) -> SecretKey:
        """This key with the secret of another library's LWE samples, which it can then decrypt and make keys for.

        The other secret is not stored with the key: `save` writes the owner's alone.

        Parameters
        ----------
        number : int
            A number for the other secret, for `SamplesPlan(..., outside=number)`.
        coefficients : sequence of int
            The other secret: -1, 0 or 1 each, at most degree times rank of them.

        Returns
        -------
        SecretKey
            The key with both secrets.

        Raises
        ------
        DataError
            For a negative number, other coefficients, none, or too many.

        Examples
        --------
        >>> both = secret_key.with_outside_secret(1, [0, 1, 1, 0, 1])
        >>> both.key_id == secret_key.key_id
        True
        """
        return SecretKey._of(self._native.with_outside_secret(number, coefficients))

    def with_share_budget(self, results: SupportsIndex) -> SecretKey:
        """This key with a number of results that it shares and no more: `decrypt_to_share` counts them.

        The noise of shared results is computed for a number of them (`Ciphertext.flood_bits(queries=...)`), and more would leak. The count
        is stored with the key. A key that was saved or loaded counts in its file, before it decrypts: programs that use one file count
        together, and a result that is lost is counted, too. Copies of the file count on their own, backups among them.

        Parameters
        ----------
        results : int
            How many results the key may share.

        Returns
        -------
        SecretKey
            The key, which counts from now on. To keep the count it has to be saved.

        Raises
        ------
        DataError
            For a negative number, and where the key has a budget already.

        Examples
        --------
        >>> key = secret_key.with_share_budget(100)
        >>> shared = key.decrypt_to_share(ct, flood_bits=20, honest_evaluator=True)
        >>> key.share_budget, key.shares_left
        (100, 99)
        """
        return SecretKey._of(self._native.with_share_budget(results))

    @property
    def share_budget(self) -> int | None:
        """How many results the key may share in all, or None where nobody counts."""
        return self._native.share_budget

    @property
    def shares_left(self) -> int | None:
        """How many results the key may still share, as its file says where it has one, or None where nobody counts."""
        return self._native.shares_left

    def tag(self, path: AnyPath, name: str = "") -> str:
        """The tag of a file under a name, by which the owner knows a file again that is stored elsewhere.

        Whoever stores the file cannot make the tag of another file, or of this one under another name. Keep the tag and compare it before
        you use the file again: it is another one where the file was changed, exchanged or set back to an older one. Checksums inside of
        files notice accidents alone.

        Parameters
        ----------
        path : str, bytes or path-like
            Any file.
        name : str, optional
            What the file is to be, such as its path and date. The default is an empty name.

        Returns
        -------
        str
            128 bits, as 32 hexadecimal digits.

        Raises
        ------
        FileAccessError
            Where the file cannot be read.

        Examples
        --------
        >>> size = secret_key.encrypt([1.0, 2.0], bound=2.0).save("monday.clt")
        >>> tag = secret_key.tag("monday.clt", "readings of monday")
        >>> tag == secret_key.tag("monday.clt", "readings of monday"), tag == secret_key.tag("monday.clt", "readings of tuesday")
        (True, False)
        """
        return self._native.tag(path, name)

    def save(self, path: AnyPath, overwrite: bool = False) -> int:
        """Writes the secret key to a file that only its owner may read.

        The file is not encrypted: whoever can read it can decrypt. A budget of shared results is stored, too.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all.
        overwrite : bool, optional
            Whether a file that exists may be replaced, even if it holds a secret key. The default is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, or exists and `overwrite` is False.

        Examples
        --------
        >>> size = secret_key.save("secret.clt")
        """
        return self._native.save(path, overwrite)

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params._of(self._native.params)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a secret key is never pickled: save it to a file of your own with `SecretKey.save(path)`")

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret key is never copied: share the object")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__copy__()
