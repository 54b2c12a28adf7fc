"""Bootstraps of one array, of a pair, and of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._wrapping import encrypted, unwrap

if TYPE_CHECKING:
    from .. import _native as native
    from .._bootstrap import BootstrapPlan
    from .._samples import SamplesPlan
    from .._typing import Progress
    from . import Ciphertext


class Bootstraps:
    """Bootstraps of one array, of a pair, and of samples."""

    __slots__ = ()
    _native: native.Ciphertext

    def bootstrap(self, plan: BootstrapPlan | None = None, progress: Progress = None) -> Ciphertext:
        """The same numbers at a high level, for further products: a bootstrap.

        Parameters
        ----------
        plan : BootstrapPlan, optional
            The plan; by default one for this array's slots, and for real numbers if the array is real. Make a plan once where several
            arrays are bootstrapped, because the plan keeps its tables.
        progress : bool or callable, optional
            True for a progress bar, or a function of the stages that are done and of all stages. The default is no progress.

        Returns
        -------
        Ciphertext
            The array at `plan.output_level`.

        Raises
        ------
        ParamsError
            Where the parameters cannot be bootstrapped.
        LevelError
            Where the array is below `plan.input_level`.
        MissingKeyError
            Without the keys of `plan.needs`.

        Notes
        -----
        Numbers must be at most 1 in magnitude. Larger ones lose precision with the third power, and wrap around where they are much
        larger.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_boot")
        >>> owner = cl.SecretKey.generate(params)
        >>> plan = cl.plans.BootstrapPlan(params, slots=8, is_complex=False)
        >>> x = owner.encrypt([0.5, -0.25], level=3, capacity=8).with_keys(owner.evaluation_keys(plan.needs))
        >>> owner.decrypt(x.bootstrap(plan)).round(3)
        array([ 0.5 , -0.25])
        """
        return encrypted(self._native.bootstrap(unwrap(plan), progress))

    def bootstrap_samples(self, plan: SamplesPlan) -> Ciphertext:
        """The numbers of LWE or MLWE samples in slots, at a high level: packed, and bootstrapped by the second half of a bootstrap.

        Parameters
        ----------
        plan : SamplesPlan
            The plan that the samples' light client was made with.

        Returns
        -------
        Ciphertext
            A vector of the samples' numbers in their order, at `plan.output_level`; with `plan.pairs` a complex one, with two
            consecutive numbers in each slot.

        Raises
        ------
        MissingKeyError
            Without the keys of `plan.needs`.
        ShapeError
            For samples of another shape, secret or order than the plan's.
        LevelError
            Above level 0.
        ScaleError
            At another scale than `plan.scale`.

        Notes
        -----
        Numbers must be at most 1 in magnitude.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_boot")
        >>> owner = cl.SecretKey.generate(params)
        >>> plan = cl.plans.SamplesPlan(params, 32, degree=16, device=3)
        >>> client = cl.clients.LightClient(owner, plan=plan)
        >>> message = client.encrypt(np.linspace(-1, 1, 32))
        >>> samples = cl.clients.Receiver(params, client.introduction, owner.authentication_key()).receive([message])
        >>> x = samples.with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
        >>> owner.decrypt(x).view(float)[:3].round(3), np.linspace(-1, 1, 32)[:3].round(3)
        (array([-1.   , -0.935, -0.871]), array([-1.   , -0.935, -0.871]))
        """
        return encrypted(self._native.bootstrap_samples(unwrap(plan)))
