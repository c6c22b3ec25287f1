"""The systems that endx.py compares: ENDX, its rivals, and changed versions of ENDX."""

from __future__ import annotations

from dataclasses import dataclass

from support.teachers import Teacher


@dataclass(frozen=True, slots=True)
class System:
    """The settings of a system in an encoder's small recipe, which is ENDX with unit vectors, and the system's ``rival``.

    For a ``teacher`` other than the cross-encoder's geometry, see support/teachers.py.
    """

    rival: str | None
    settings: tuple[str, ...] = ()
    teacher: Teacher = "geometry"


ALONE = ("alignment=",)
RAW = ("similarity=dot", "scale=1.0")
"""Inner products of vectors of any length, as in the paper."""
KEEP_CROSS = ("alignment.keep_cross=true",)
"""For geometry.py."""
SYSTEMS = {
    "dual": System(None, ALONE),
    "endx": System("dual", KEEP_CROSS),
    "dual_vae": System("dual", (*ALONE, "variational.kind=dual")),
    "cross_vae": System("dual", (*ALONE, "variational.kind=cross")),
    "mined": System("dual", (*ALONE, "negatives=4")),
    "endx_mined": System("mined", ("negatives=4",)),
    "dual_dot": System(None, (*ALONE, *RAW)),
    "endx_dot": System("dual_dot", (*RAW, *KEEP_CROSS)),
    "dual_four_epochs": System(None, (*ALONE, "epochs=4")),
    "endx_four_epochs": System("dual_four_epochs", (*KEEP_CROSS, "epochs=4")),
}
CHANGES: dict[str, tuple[str, ...]] = {
    "without_qq": ("alignment.question_question=0.0",),
    "without_aa": ("alignment.answer_answer=0.0",),
    "without_qa": ("alignment.question_answer=0.0",),
    "without_aq": ("alignment.answer_question=0.0",),
    "unaligned": ("alignment.share=0.0",),
    "attached": ("alignment.detach=false",),
    "gaussian": ("alignment.kernel=gaussian",),
    "printed": ("alignment.question_question=1e4", "alignment.answer_answer=1e4"),
    "labels": (),
    "regression": (),
    "all_widths": ("alignment.kernel=gaussian", "alignment.width=median"),
    "dual_widths": ("alignment.kernel=gaussian", "alignment.width=median"),
}
"""Changes to ENDX. ``unaligned`` trains the cross-encoder, but the dual encoder learns nothing from it; ``printed`` has the
weights in the paper; the last four are other teachers."""
TEACHERS: dict[str, Teacher] = {name: name for name in ("labels", "regression", "all_widths", "dual_widths")}
HOPS = {"one_hop": ("hops=1",), "eight_hops": ("hops=8",), "joined": ("joining=concatenated",)}
"""Attention with hops other than four averaged ones, for raw products with and without ENDX."""
SYSTEMS |= {
    f"{base}_{name}": System(base, (*SYSTEMS[base].settings, *settings), TEACHERS.get(name, "geometry"))
    for base in ("endx", "endx_dot")
    for name, settings in CHANGES.items()
}
for name, settings in HOPS.items():
    alone = f"dual_dot_{name}"
    SYSTEMS[alone] = System("dual_dot", (*SYSTEMS["dual_dot"].settings, *settings))
    SYSTEMS[f"endx_dot_{name}"] = System(alone, (*SYSTEMS["endx_dot"].settings, *settings))


def rivals(rival: str | None) -> list[str]:
    """Return a rival, its rival, and so on."""
    return [rival, *rivals(SYSTEMS[rival].rival)] if rival else []
