"""What notebooks show of objects."""

from __future__ import annotations

from conftest import Party

import clathrate as cl


def test_notebooks_show_tables(owner: Party) -> None:
    choice = cl.Params.for_circuit(lambda x: x * x, (3,))
    x = owner.encrypt([1.0, 2.0])
    shown = [owner.params, x, x * x, owner.params.switching_report(), cl.plans.Polynomial([0.0, 1.0, 1.0]).plan(owner.params)]
    for thing in [*shown, cl.plans.PackingPlan(owner.params)]:
        text = thing._repr_html_()
        assert text.startswith("<table>"), thing
        assert text.count("<tr>") > 2, thing
        assert text.count("<tr>") == text.count("</tr>"), thing
    assert "a product to be rescaled" in (x * x)._repr_html_()
    for thing in (choice, choice.trace):
        assert thing._repr_html_().startswith("<pre>")
