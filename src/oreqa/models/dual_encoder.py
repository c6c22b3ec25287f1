"""The former home of ``QuestionTransformer``, for the model folders that name it.

The class moved to ``oreqa.models.encoder.module``, but the modules.json of folders saved before then says
``oreqa.models.dual_encoder.QuestionTransformer``, and sentence-transformers imports it by that name: keep this file.
"""

from oreqa.models.encoder.module import QuestionTransformer

__all__ = ["QuestionTransformer"]
