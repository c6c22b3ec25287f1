"""Recipes: what a training run is made of. The one place of its defaults; ``oreqa train KIND --help`` lists the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.defaults import DEFAULT_ENCODER
from oreqa.models.encoder.folder import Joining, NewEncoder
from oreqa.models.reader.folder import MAX_ANSWER_TOKENS
from oreqa.training.generation_recipes import ExtractorRecipe, GeneratorRecipe
from oreqa.training.openqa_recipe import OpenQARecipe
from oreqa.training.sections import Count, NonNegative, Optimiser, Section, Seed, Share, Tokens

RetrieverLoss = Literal["softmax", "soft_labels"]
ReaderLoss = Literal["dpr", "shared"]
CrossEncoderLoss = Literal["cross_entropy", "listwise_softmax"]
"""Names in ``training.losses``."""
RunOrder = Literal["by_passage", "by_length"]
"""Names in ``training.batches``."""
RoundOrder = Literal["distinct", "clusters"]
"""Orders that ``training.rounds`` makes anew for each epoch."""


class DataPart(Section):
    """A file to train a reader on."""

    file: Path
    """SQuAD or MRQA file, of which the held-out articles are passed over."""
    epochs: Count = 1
    """How often its questions are seen."""
    questions: Count | None = None
    """Questions drawn for each epoch; without it, all of them."""
    asked: Literal["all", "answerable", "unanswerable"] = "all"
    """Which questions are taken: all, those that their paragraph answers, or those that it does not."""
    titles: bool = True
    """Whether the paragraphs' titles mean anything to a reader."""


class ReaderRecipe(Section):
    """How a reader is trained: which span answers, and which passage holds it."""

    kind: Literal["reader"]
    """What is trained."""
    backbone: str = DEFAULT_ENCODER
    """The model to begin with: a name or a folder."""
    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    data: Annotated[tuple[DataPart, ...], Field(min_length=1)]
    """The files to learn from."""
    loss: ReaderLoss = "shared"
    """Spans are normalised inside each passage (dpr), or over all passages of a question (shared); both learn to select the
    passage."""
    supervision: Literal["given", "distant"] = "given"
    """The annotated offsets (given), or every occurrence of an answer in the passages that BM25 retrieves (distant)."""
    negatives: NonNegative = 0.2
    """Mean number of retrieved passages without the answer beside the positive."""
    unanswerable: Share = 0.1
    """Share of the questions that are also asked of such passages alone."""
    depth: Count = 20
    """Passages retrieved for each question."""
    max_tokens: Annotated[int, Field(ge=32, le=512)] = 256
    """Tokens of a window in training."""
    read_tokens: Annotated[int, Field(ge=32, le=512)] | None = None
    """Tokens of a window that the trained reader reads; without it, max_tokens."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """Tokens that two windows of a long passage share."""
    answer_tokens: Count = MAX_ANSWER_TOKENS
    """The longest answer of the trained reader."""
    freeze_embeddings: bool = True
    """Keep the backbone's embeddings as they are."""
    dropout: Share | None = None
    """Dropout; without it, the backbone's."""
    attention_dropout: Share | None = None
    """Dropout of attention weights, which costs a fifth of the speed on a processor; without it, dropout."""
    seed: Seed = 0
    """What is random is drawn by it."""
    optimiser: Optimiser
    """The optimiser."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / part.file for part in self.data]

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        self._refuse_overlap(self.overlap, min(self.max_tokens, self.read_tokens or self.max_tokens))
        return self

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        retrieves = self.negatives > 0 or self.unanswerable > 0 or self.supervision == "distant"
        self._refuse_ignored("depth", retrieves, "negatives or unanswerable above 0, or supervision=distant")
        return self


class CrossEncoderRecipe(Section):
    """What the recipes of classifier and re-ranker share."""

    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    epochs: Count = 1
    """How often each question is seen."""
    freeze_embeddings: bool = True
    """Keep the embeddings of the model to begin with as they are."""
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    """Its lowest layers that are kept as they are: less to learn from few examples, and faster steps."""
    dropout: Share = 0.1
    """Dropout."""
    seed: Seed = 0
    """What is random is drawn by it."""
    optimiser: Optimiser
    """The optimiser."""

    @model_validator(mode="after")
    def _frozen_layers_stand_on_frozen_embeddings(self) -> Self:
        if self.frozen_layers and not self.freeze_embeddings:
            raise ValueError(
                "frozen layers need the embeddings they were trained with; set freeze_embeddings=true, or frozen_layers=0"
            )
        return self


class RerankerRecipe(CrossEncoderRecipe):
    """How a span re-ranker is trained, on what a reader predicted (oreqa mine predictions)."""

    kind: Literal["reranker"]
    """What is trained."""
    reader: str
    """The reader that made the predictions, a name or a folder; training begins with its weights and a new head."""
    backbone: str | None = None
    """A re-ranker to begin with instead, as the paper does for small sets."""
    predictions: Path
    """The file of predictions."""
    loss: CrossEncoderLoss = "listwise_softmax"
    """The right span against the wrong ones of its question (listwise_softmax), or each span by itself (cross_entropy)."""
    candidates: Annotated[int, Field(ge=2)] = 30
    """Spans of a question that are compared, the paper's M: one right, the others wrong."""
    pool: Count = 100
    """The reader's best wrong spans, from which the wrong ones are drawn."""
    marking: Literal["marked", "unmarked", "appended"] = "marked"
    """How a span is shown: marked in its passage, not marked, or appended to the question."""
    max_tokens: Annotated[int, Field(ge=32, le=512)] = 240
    """Tokens of an input."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / self.predictions]


class ClassifierRecipe(CrossEncoderRecipe):
    """How a classifier is trained: does a sentence answer a question?"""

    kind: Literal["classifier"]
    """What is trained."""
    backbone: str = DEFAULT_ENCODER
    """The model to begin with: an encoder or a reader, a name or a folder."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """Pair files with negatives (oreqa mine negatives)."""
    loss: CrossEncoderLoss = "cross_entropy"
    """Each sentence by itself (cross_entropy), or the answer against the negatives of its question (listwise_softmax)."""
    marking: Literal["alone", "marked"] = "alone"
    """How a sentence is shown: alone, as Yang et al. do, or marked in as much of its passage as max_tokens hold."""
    max_tokens: Tokens = 128
    """Tokens of an input."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / part for part in self.data]


class RetrieverRecipe(Section):
    """How a dual encoder is trained, on pairs of question and answer."""

    kind: Literal["retriever"]
    """What is trained."""
    backbone: str = DEFAULT_ENCODER
    """The model to begin with: a name or a folder."""
    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """SQuAD, MRQA or pair files, and BEIR folders."""
    dev: Path | None = None
    """A task to stop early on: its MRR is measured at every checkpoint, and the best one is kept. Of a SQuAD or MRQA file
    the held-out articles, of a BEIR folder the split dev."""
    patience: Count = 3
    """Checkpoints without a gain on dev before training stops."""
    epochs: Count = 1
    """How often each pair is seen."""
    unit: Literal["sentence", "passage"] = "sentence"
    """What questions learn to find: the sentence that answers, or the whole passage that holds it, as Xiong et al. do."""
    context: Literal["late_chunking", "cross_segment", "none"] = "late_chunking"
    """What the encoder sees with a sentence: all sentences of a passage in one pass, which is cheap (late_chunking); each
    with its passage as second segment, as Yang et al. do (cross_segment); or nothing (none)."""
    encoder: Literal["backbone", NewEncoder] = "backbone"
    """What reads a text: the whole backbone, or two new layers over its token embeddings, as Wang et al. do."""
    pooling: Literal["cls", "mean", "attention"] = "mean"
    """What a vector is made of: the first token, the mean of all, or several means that attention weighs (attention)."""
    hops: Count = 4
    """Means that attention takes, each with weights of its own."""
    joining: Joining = "averaged"
    """What becomes of them: their average, or one vector of all of them, that many times as wide (concatenated)."""
    towers: Literal["shared", "separate"] = "shared"
    """Questions and passages have one encoder (shared), or an encoder each, of one shape, as Xiong et al. do (separate):
    twice the weights."""
    input_types: bool = False
    """Give questions a learned input-type embedding, as Yang et al. do."""
    projection: Count | None = None
    """Dimensions of a linear layer on top, the backbone's if it has one of so many; without it there is none."""
    loss: RetrieverLoss = "softmax"
    """The answer against all other candidates of a batch (softmax), or this mixed with a classifier's probabilities of the
    answer and of other candidates of the question (soft_labels)."""
    silver: Literal["positives", "missing_gold", "none"] = "positives"
    """Which silver pairs are learned from as answers: all of at least min_probability (positives), the likeliest of them
    where a question has no gold (missing_gold), or none. In each case they are no negatives of their questions."""
    min_probability: Share = 0.5
    """The classifier's probability from which a silver pair counts as an answer; one below is a hard negative."""
    weight_power: NonNegative = 2.0
    """A silver pair of probability p counts as much as p to this power."""
    soft_share: Share = 0.5
    """Share of soft labels in the loss."""
    similarity: Literal["cosine", "dot"] = "cosine"
    """Questions and candidates are compared by cosine, or by the inner product of vectors of any length, as Xiong et al.
    do (dot)."""
    scale: Annotated[float, Field(gt=0)] = 100.0
    """Similarities are multiplied with it before the softmax: the inverse temperature."""
    passage_weight: NonNegative = 0.37
    """Weight of a passage's own similarity in the score of its sentences (late_chunking, unit=sentence)."""
    negatives: Annotated[int, Field(ge=0)] = 0
    """Hard negatives drawn for each question; with soft labels, further candidates that the classifier scored."""
    batches: Literal[RunOrder, RoundOrder] = "by_passage"
    """What stands in a batch: the questions of a passage together, so that it is encoded once (by_passage), or questions at
    random (by_length), in both with passages of similar length; questions at random, never two of a passage (distinct); or
    questions of similar passages, from one cluster, never two of a passage, as Xiong et al. do (clusters)."""
    clusters: Annotated[int, Field(ge=2)] | None = None
    """Clusters of passages; without it, one for every eight batches of questions, and two at least."""
    cluster_points: Count = 1000
    """Passages of a cluster that its centre is fitted to, at most."""
    cluster_epochs: Count = 1
    """Epochs after which passages are clustered anew, by what the model then makes of them."""
    chunk: Count | None = None
    """Inputs that are encoded at a time: less memory for a quarter more time (gradient caching); without it, a batch."""
    max_tokens: Tokens = 256
    """Tokens of an input."""
    freeze_embeddings: bool = True
    """Keep the backbone's word and position embeddings as they are."""
    dropout: Share | None = None
    """Dropout; without it, the backbone's."""
    seed: Seed = 0
    """What is random is drawn by it."""
    optimiser: Optimiser
    """The optimiser."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from, and is stopped by."""
        return [self.data_root / part for part in (*self.data, *([self.dev] if self.dev else []))]

    @model_validator(mode="after")
    def _soft_labels_need_candidates(self) -> Self:
        if self.loss == "soft_labels" and not self.negatives:
            raise ValueError(
                "loss = soft_labels compares candidates of a question; set negatives to 1 or more, as in negatives=4"
            )
        if self.loss == "soft_labels" and self.silver == "positives":
            raise ValueError(
                "loss = soft_labels teaches what silver pairs are worth already; set silver=missing_gold, or silver=none"
            )
        return self

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        self._refuse_ignored("soft_share", self.loss == "soft_labels", "loss=soft_labels")
        self._refuse_ignored("weight_power", self.silver != "none", "silver=positives or missing_gold")
        self._refuse_ignored("patience", self.dev is not None, "dev=TASK")
        if self.chunk and self.optimiser.accumulate > 1:
            raise ValueError("chunk computes a batch of any size; set optimiser.batch higher, and optimiser.accumulate to 1")
        for key in ("clusters", "cluster_points", "cluster_epochs"):
            self._refuse_ignored(key, self.batches == "clusters", "batches=clusters")
        if self.cluster_epochs > self.epochs:
            raise ValueError(f"cluster_epochs = {self.cluster_epochs} is more than the {self.epochs} epochs of the run")
        if self.optimiser.head_learning_rate is not None and self.projection is None and self.pooling != "attention":
            raise ValueError("optimiser.head_learning_rate would be ignored: it needs projection, the layer on top")
        late = self.context == "late_chunking"
        if self.pooling == "cls" and late:
            raise ValueError("pooling = cls has no vector for a sentence of a passage: set context=cross_segment, or none")
        for key in ("hops", "joining"):
            self._refuse_ignored(key, self.pooling == "attention", "pooling=attention")
        self._refuse_ignored("passage_weight", late and self.unit == "sentence", "context=late_chunking and unit=sentence")
        if self.unit == "passage" and self.context == "cross_segment":
            raise ValueError("unit = passage has no sentence beside its passage; set context=late_chunking, or context=none")
        if self.input_types and self.towers == "separate":
            raise ValueError("input_types = True tells one encoder what questions are; set towers=shared, or leave it out")
        return self


Recipe = (
    ReaderRecipe | RerankerRecipe | ClassifierRecipe | RetrieverRecipe | OpenQARecipe | GeneratorRecipe | ExtractorRecipe
)

RECIPES: dict[str, type[Recipe]] = {
    "reader": ReaderRecipe,
    "reranker": RerankerRecipe,
    "classifier": ClassifierRecipe,
    "retriever": RetrieverRecipe,
    "openqa": OpenQARecipe,
    "generator": GeneratorRecipe,
    "extractor": ExtractorRecipe,
}
"""The recipe of each kind of model."""
