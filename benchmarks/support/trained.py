"""What the packaged models have learned from."""

from __future__ import annotations

TRAINED = frozenset(("squad-train-pieces", "qed-nq-train", "afriqa-en", "fairytaleqa", "timeqa-human"))
"""Sets that encoders are trained on, but for the held-out tenth of their articles."""
