"""Where folders that were saved before 0.2 say that QuestionTransformer is: sentence-transformers imports it from here."""

from oreqa.models.encoder.module import QuestionTransformer

__all__ = ["QuestionTransformer"]
