"""The same numbers in another form: the encoding, the degree and rank, and the secret that they are under."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from .._wrapping import encrypted, unwrap

if TYPE_CHECKING:
    from .. import _native as native
    from .._packing import PackingPlan
    from .._typing import BodyAxis
    from . import Ciphertext


class Conversions:
    """Other encodings, degrees and ranks, masks and secrets."""

    __slots__ = ()
    _native: native.Ciphertext

    def to_slots(self, *, levels: SupportsIndex | None = None) -> Ciphertext:
        """The same array in slots.

        From coefficients this is a discrete Fourier transform of the encrypted numbers, which takes rotations and a level for every five
        doublings of the slots. Where an operation is for slots alone (products entry by entry, polynomials, functions, variances,
        conjugates, sums with arrays in slots), arrays in coefficients are converted by themselves, with the keys that `trace` finds.
        Without these keys the operation is refused, and with `Runtime(rescale="explicit")` always.

        Parameters
        ----------
        levels : int, optional
            How many levels it takes: more levels take fewer rotations, and fewer keys. None, the default, takes one for every five
            doublings of the slots.

        Returns
        -------
        Ciphertext
            The array in slots, in bit-reversed order where it was in natural order: `layout.order` tells. Only rotations see that.

        Raises
        ------
        MissingKeyError
            Without the rotations, and for real numbers the conjugation, that `trace` finds.
        LevelError
            Where there are too few levels.
        ShapeError
            Where rows share a mask or a polynomial, or other numbers lie between those of a row.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0, 2.0, 3.0]], encoding="coefficients")
        >>> keys = secret_key.keys_for(lambda x: x.to_slots(), (1, 3), encoding="coefficients")
        >>> y = x.with_keys(keys).to_slots()
        >>> y.encoding, y.layout.order, secret_key.decrypt(y).round(3)
        ('slots', 'bit-reversed', array([[1., 2., 3.]]))
        """
        return encrypted(self._native.to_slots(levels=levels))

    def to_coefficients(self, *, levels: SupportsIndex | None = None) -> Ciphertext:
        """The same array in coefficients, for products with plain matrices, samples and packing.

        From slots this is a discrete Fourier transform of the encrypted numbers, as in `to_slots`.

        Parameters
        ----------
        levels : int, optional
            As `to_slots` takes it.

        Returns
        -------
        Ciphertext
            The array in coefficients, in bit-reversed order where it was in natural order. Real numbers leave half of the coefficients
            free.

        Raises
        ------
        ClathrateError
            As `to_slots`.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0]], encoding="slots")
        >>> keys = secret_key.keys_for(lambda x: x.to_coefficients(), (2, 2), encoding="slots")
        >>> y = x.with_keys(keys).to_coefficients()
        >>> y.encoding, secret_key.decrypt([[1.0, 1.0]] @ y).round(3)
        ('coefficients', array([[4., 6.]]))
        """
        return encrypted(self._native.to_coefficients(levels=levels))

    def to_rank(self, rank: SupportsIndex) -> Ciphertext:
        """The same numbers at another rank of the same degree.

        A lower rank is reached by a key switch with the keys of `Needs(ranks=[...])`. Ciphertexts there are smaller and faster, and secure
        at lower levels only: `params.at_rank(rank).max_level`. A higher rank, up to the rank of the keys' parameters, needs no key: the
        mask is extended by zeros.

        Parameters
        ----------
        rank : int
            The rank.

        Returns
        -------
        Ciphertext
            The same numbers at that rank.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this reduction.
        LevelError
            Above the levels that are secure at that rank.
        ParamsError
            Where the parameters do not have that rank.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> key = cl.SecretKey.generate(four)
        >>> x = key.encrypt([1.0, 2.0]).with_keys(key.evaluation_keys(cl.keys.Needs(ranks=[2])))
        >>> x.drop_to_level(four.at_rank(2).max_level).to_rank(2).rank
        2
        """
        return encrypted(self._native.to_rank(rank))

    def to_rlwe(self) -> Ciphertext:
        """The same numbers at rank 1 and the degree of equal dimension: degree times rank.

        It needs the keys of `Needs(to_rlwe=True)`; for several bodies under one mask, `trace(..., bodies=...)` finds the keys. Numbers,
        level and scale stay. The result has the parameters `params.rlwe()`; where the rank is not a power of two, the odd factor of the
        rank stays.

        Returns
        -------
        Ciphertext
            The same numbers in a larger ring.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this conversion.
        ShapeError
            Where rows in slots are longer than `params.slot_count`, and for odd ranks above 1.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> key = cl.SecretKey.generate(four)
        >>> x = key.encrypt([1.0, 2.0]).with_keys(key.evaluation_keys(cl.keys.Needs(to_rlwe=True)))
        >>> (x.degree, x.rank), (x.to_rlwe().degree, x.to_rlwe().rank)
        ((256, 4), (1024, 1))
        """
        return encrypted(self._native.to_rlwe())

    def to_mlwe(self, rank: SupportsIndex) -> Ciphertext:
        """The same numbers at a higher rank and the degree of equal dimension: the reverse of `to_rlwe`.

        It rearranges the coefficients of the polynomials, so it needs no key. Numbers in coefficients are spread over several bundles, as
        `Ciphertext.layout` says.

        Parameters
        ----------
        rank : int
            The rank: the present one times a power of two.

        Returns
        -------
        Ciphertext
            The same numbers in a smaller ring.

        Raises
        ------
        ShapeError
            Where rows in slots do not fit the slots of the lower degree, and for other ranks.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> x = cl.SecretKey.generate(four).relative(four.rlwe()).encrypt([1.0, 2.0])
        >>> (x.degree, x.rank), (x.to_mlwe(4).degree, x.to_mlwe(4).rank)
        ((1024, 1), (256, 4))
        """
        return encrypted(self._native.to_mlwe(rank))

    def to_lwe(self) -> Ciphertext:
        """Every number as an LWE sample: the array in bundles of degree 1.

        It rearranges the coefficients of the polynomials, so it needs no key. The rank of the result is degree times rank. Of real numbers
        in natural order, number j of a row is bundle j of the row; a complex number is two samples. `Ciphertext.layout` says which is
        where.

        Returns
        -------
        Ciphertext
            The same numbers at degree 1.

        Raises
        ------
        ShapeError
            Unless the array is encoded in coefficients.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0], "coefficients").to_lwe()
        >>> x.degree, x.rank, x.layout.bundles
        (1, 1024, 3)
        >>> secret_key.decrypt(x).round(4)
        array([1., 2., 3.])
        """
        return encrypted(self._native.to_lwe())

    def pack(self, plan: PackingPlan, *, lanes: bool = False) -> Ciphertext:
        """The same numbers at rank 1 and the degree of equal dimension, packed from samples by a plan: `to_rlwe` by the plan's method.

        Parameters
        ----------
        plan : PackingPlan
            The plan, for samples of this degree.
        lanes : bool, optional
            True brings rows that each fill a polynomial into the lanes of as few polynomials as possible: the reverse of `to_mlwe` for
            arrays that were encrypted with `lanes`. The default, False, spreads the numbers of each row over a polynomial of its own.

        Returns
        -------
        Ciphertext
            The same numbers in a larger ring, in the layout of `to_rlwe`, or with several rows in a polynomial.

        Raises
        ------
        MissingKeyError
            Without the keys of `plan.needs`.
        ShapeError
            Where rows in slots do not fit the slots of this degree, for samples of another degree than the plan's, and for lanes of rows
            that do not fill polynomials, or by the method "rows".
        WrongParamsError
            For other parameters than the plan's.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_small")
        >>> owner = cl.SecretKey.generate(params)
        >>> plan = cl.plans.PackingPlan(params, method="column", level=1)
        >>> samples = owner.encrypt([0.5, -0.25], encoding="coefficients", level=1).to_lwe()
        >>> owner.decrypt(samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)).round(3)
        array([ 0.5 , -0.25])
        """
        return encrypted(self._native.pack(unwrap(plan), lanes=lanes))

    def share_mask(self, bodies: SupportsIndex, axis: BodyAxis | None = None) -> Ciphertext:
        """The same numbers with several bodies under each mask.

        The array takes less memory, because the bodies of a bundle share the mask, and an operation on the mask serves all of them. It
        needs the keys of `Needs(shared_mask=bodies)`. The result is under the secret "bodies:" and the number, which `SecretKey.decrypt`
        knows too.

        Parameters
        ----------
        bodies : int
            The number of bodies under one mask, 1 to 4096. Where rows or chunks are no multiple of it, the last bodies are zero.
        axis : {"rows", "chunks"}, optional
            Which bodies share a mask. "rows" are consecutive rows, so that rotations and products along a row serve several rows. "chunks"
            are consecutive chunks of one row, so that `W @ ct` multiplies one mask for the whole row. None, the default, takes chunks where
            a row has several, and rows otherwise.

        Returns
        -------
        Ciphertext
            The same numbers, with `bodies` bodies in each bundle.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this number of bodies.
        WrongSecretError
            Where the array has several bodies under one mask already.
        DataError
            For a number of bodies out of range, or another axis.

        Examples
        --------
        >>> keys = secret_key.evaluation_keys(cl.keys.Needs(shared_mask=2))
        >>> x = secret_key.encrypt(np.eye(4), "slots").with_keys(keys)
        >>> y = x.share_mask(2)
        >>> y.secret, round(x.nbytes / y.nbytes, 2)
        ('bodies:2', 1.33)
        """
        return encrypted(self._native.share_mask(bodies, axis))

    def split_mask(self) -> Ciphertext:
        """The same numbers with one body in each bundle, under the main secret: the reverse of `share_mask`.

        It needs the keys of `Needs(shared_mask=ct.bodies)`.

        Returns
        -------
        Ciphertext
            The same numbers, with one body in each bundle.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this number of bodies.
        ShapeError
            Where the array has one body in each bundle under the main secret already.

        Examples
        --------
        >>> keys = secret_key.evaluation_keys(cl.keys.Needs(shared_mask=2))
        >>> x = secret_key.encrypt(np.eye(4), "slots", bodies=2).with_keys(keys)
        >>> x.split_mask().secret
        'main'
        """
        return encrypted(self._native.split_mask())

    def change_secret(self, secret: str) -> Ciphertext:
        """The same numbers under another secret of the owner: "device:7" for an answer to that device, or "main".

        `trace` finds the key. A key to a device's secret encrypts the owner's secret under it: whoever has both the key and the device's
        secret decrypts everything. Make it only for devices that are trusted as the owner is.

        Parameters
        ----------
        secret : str
            The name of the secret, as `Ciphertext.secret` says it.

        Returns
        -------
        Ciphertext
            The same numbers, under that secret.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this change.
        DataError
            For a name that no secret has, or a secret of another number of bodies.
        ShapeError
            For a secret that arrays are not under.

        Examples
        --------
        >>> needs = cl.plans.trace(lambda x: x.change_secret("device:7"), (2,), params=params, encoding="coefficients", level=0).needs
        >>> x = secret_key.encrypt([1.0, 2.0], encoding="coefficients", level=0).with_keys(secret_key.evaluation_keys(needs))
        >>> client = cl.clients.LightClient(secret_key, device=7)
        >>> receiver = cl.clients.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> client.decrypt(receiver.reply(x.change_secret("device:7"))).round(3)
        array([1., 2.])
        """
        return encrypted(self._native.change_secret(secret))
