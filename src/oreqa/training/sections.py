"""What all recipes are made of: checked tables, the kinds of their numbers, and the optimiser."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Tokens = Annotated[int, Field(ge=16, le=512)]


class Section(BaseModel):
    """A recipe, or a table of one: its keys are checked, and none but these are taken."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    def _refuse_ignored(self, key: str, used: bool, needs: str) -> None:
        """Raise ValueError if the recipe sets a ``key``, even to its default, that is not ``used`` for want of ``needs``."""
        if not used and key in self.model_fields_set:
            raise ValueError(f"{key} = {getattr(self, key)} would be ignored: it needs {needs}")

    @staticmethod
    def _refuse_overlap(overlap: int, tokens: int) -> None:
        """Raise ValueError if two windows of ``tokens`` tokens share more than half: windows have to move on."""
        if overlap > tokens // 2:
            raise ValueError(f"overlap = {overlap} is more than half of a window; set it to at most {tokens // 2}")


class Optimiser(Section):
    """AdamW, with warm-up and then linear decay or a constant rate."""

    learning_rate: Annotated[float, Field(gt=0)]
    """The highest rate."""
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    """The rate of what lies on top of the encoder, or beside it; without it, the same. The layers of a new encoder have
    learning_rate."""
    batch: Count
    """Examples that are computed together, on each device."""
    accumulate: Count = 1
    """Batches of a step, whose gradients are averaged."""
    warmup: Share = 0.06
    """Share of the steps over which the rate rises."""
    weight_decay: NonNegative = 0.01
    """Decay of matrices; biases and normalisation do not decay."""
    schedule: Literal["linear", "constant"] = "linear"
    """What the rate does after warm-up: fall to 0, or stay."""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """The largest norm of a step's gradient."""
    precision: Literal["auto", "bf16", "f32"] = "auto"
    """What is computed in; auto is $OREQA_PRECISION, else bf16 where the hardware multiplies it, else f32."""
    checkpoint_steps: Count = 200
    """Steps between two checkpoints, from which an interrupted run resumes."""
    tensorboard: bool = False
    """Write TensorBoard's events (needs the package tensorboard)."""
