"""The recipe of a retriever; ``oreqa train retriever --help`` lists the keys."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from oreqa.defaults import BASE_ENCODER
from oreqa.models.encoder.folder import NewEncoder
from oreqa.models.encoder.pooling import Joining
from oreqa.training.losses import RETRIEVER_LOSSES, OneOf
from oreqa.training.recipes import Count, InputTokens, LoraRecipe, NonNegative, RecipeTable, Share

Silver = Literal["positives", "missing_gold", "none"]
"""Which silver pairs are answers to learn from."""
RoundOrder = Literal["distinct", "clusters"]
"""Orders that ``RetrieverRounds`` makes anew for each epoch."""


Positive = Annotated[float, Field(gt=0)]


def _four(value: object) -> object:
    if isinstance(value, list | tuple) and len(value) != 4:
        raise ValueError("it must be one number, or a list of four, one for each pair of roles")
    return value


OfRoles = Annotated[Positive | tuple[Positive, Positive, Positive, Positive], BeforeValidator(_four)]
"""A value for all pairs of roles, or one for each, in the order of _TERMS."""


def _epochs_or_part(value: float) -> float:
    """A whole number, or one divided by a whole number, as near as a recipe says it."""
    whole = round(max(value, 1 / value))
    if abs(max(value, 1 / value) - whole) > 0.01 * whole:
        raise ValueError("it must be a whole number of epochs, or a half, a third, ... of one")
    return value if value < 1 else whole


_TERMS = ("answer_question", "question_answer", "question_question", "answer_answer")


class Alignment(RecipeTable):
    """How a cross-encoder is trained beside the dual encoder, and its geometry passed on (Wang et al. 2021)."""

    dual_share: NonNegative = 0.25
    """Weight of the dual encoder's loss."""
    cross_share: NonNegative = 0.25
    """Weight of the cross-encoder's loss."""
    share: NonNegative = 0.5
    """Weight of the alignment."""
    kernel: Literal["inner", "gaussian"] = "inner"
    """How near two vectors are: by their inner product (inner), or by their distance (gaussian)."""
    width: OfRoles | Literal["median"] = 1.0
    """The width 2σ² of the Gaussian kernel: one for all pairs of roles; a list of four: for the answers around a question,
    the questions around an answer, the questions around a question, the answers around an answer; or, for each of them,
    the median of the batch's squared distances (median)."""
    cross_width: OfRoles | Literal["median"] | None = None
    """The same of the cross-encoder; without it, that of the dual encoder."""
    scale: OfRoles | None = None
    """The kernel is multiplied by it before the softmax: the inverse temperature, or a list of four, as for width; without
    it, the recipe's scale."""
    cross_scale: OfRoles | None = None
    """The same of the cross-encoder: higher than scale, only its nearest neighbours are taught; without it, scale."""
    answer_question: NonNegative = 0.5
    """Weight of the term of the answers around a question."""
    question_answer: NonNegative = 0.5
    """Weight of the term of the questions around an answer."""
    question_question: NonNegative = 0.5
    """Weight of the term of the questions around a question; the paper's is 1e4."""
    answer_answer: NonNegative = 0.5
    """Weight of the term of the answers around an answer; the paper's is 1e4, too."""
    ramp_epochs: NonNegative = 1.0
    """Epochs over which the weights of the four terms rise from 0 to their full values; in the paper 5."""
    detach: bool = True
    """Keep the alignment from training the cross-encoder, which then is only its target."""
    keep_cross: bool = False
    """Save the cross-encoder, too, in the folder cross/ beside the model: to look at what it taught."""

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        if not self.dual_share + self.cross_share + self.share:
            raise ValueError("dual_share, cross_share and share are all 0: nothing would be learned")
        if not self.dual_share + self.share:
            raise ValueError("dual_share and share are 0: the dual encoder would not learn")
        if not self.answer_question + self.question_answer + self.question_question + self.answer_answer:
            raise ValueError("the weights of all four terms are 0: set share=0 to leave the alignment out")
        if not self.cross_share and (self.detach or not self.share):
            raise ValueError(
                "cross_share = 0 leaves the cross-encoder as it begins: set it above 0, or detach=false and share above 0"
            )
        for key in ("kernel", "width", "cross_width", "scale", "cross_scale", *_TERMS, "ramp_epochs", "detach"):
            self._refuse_ignored(key, self.share > 0, "share above 0")
        for key in ("width", "cross_width"):
            self._refuse_ignored(key, self.kernel == "gaussian", "kernel=gaussian")
        return self


class Variational(RecipeTable):
    """How decoders are trained that generate the texts of a pair from its vectors: a GRU of width 512 for each side, which
    reads the first 48 tokens with a quarter of them blanked."""

    kind: Literal["dual", "cross"]
    """Each vector generates its own text (dual, Shen et al. 2018), or that of the other side (cross, Yu et al. 2020)."""
    reconstruction_weight: NonNegative = 0.05
    """Weight of the texts' negative log-likelihood, in nats of a pair."""
    kl_weight: NonNegative = 0.005
    """Weight of the divergence of the latent vectors from the prior, in nats of a pair."""
    ramp_epochs: NonNegative = 1.0
    """Epochs over which kl_weight rises from 0."""

    @model_validator(mode="after")
    def _teaches(self) -> Self:
        if not self.reconstruction_weight + self.kl_weight:
            raise ValueError("reconstruction_weight and kl_weight are 0: leave [variational] out")
        self._refuse_ignored("ramp_epochs", self.kl_weight > 0, "kl_weight above 0")
        return self


class RetrieverRecipe(LoraRecipe):
    """How a dual encoder is trained, on pairs of question and answer."""

    kind: Literal["retriever"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to begin with: a name or a folder."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """SQuAD and MRQA files, of which the held-out articles are passed over, pair files, and BEIR folders."""
    dev_metric: Literal["mrr", "r@1"] = "mrr"
    """What is measured on dev, which may be a BEIR folder with a split dev, too: the mean reciprocal rank of a question's
    answer, or the share of its answers that are found first."""
    epochs: Count = 1
    """How often each pair is seen."""
    unit: Literal["sentence", "passage"] = "sentence"
    """What questions learn to find: the sentence that answers, or the whole passage that holds it, as Xiong et al. do."""
    context: Literal["late_chunking", "cross_segment", "none"] = "late_chunking"
    """What the encoder sees with a sentence: all sentences of a passage in one pass, which is cheap (late_chunking); each
    with its passage as second segment, as Yang et al. do (cross_segment); or nothing (none)."""
    encoder: Literal["backbone", NewEncoder] = "backbone"
    """What reads a text: the whole backbone, or two new layers over its token embeddings, as Wang et al. do;
    attention and projection are then new, too."""
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
    loss: Annotated[str, OneOf(RETRIEVER_LOSSES)] = "softmax"
    """The answer against all other candidates of a batch (softmax), or this mixed with a classifier's probabilities of the
    answer and of other candidates of the question (soft_labels)."""
    silver: Silver = "positives"
    """Which silver pairs are learned from as answers: all of at least min_probability (positives), the likeliest of them
    where a question has no gold (missing_gold), or none. In each case they are no negatives of their questions."""
    min_probability: Share = 0.5
    """The classifier's probability from which a silver pair counts as an answer; one below is a hard negative."""
    weight_power: NonNegative = 2.0
    """A silver pair of probability p counts as much as p to this power."""
    similarity: Literal["cosine", "dot"] = "cosine"
    """Questions and candidates are compared by cosine, or by the inner product of vectors of any length, as Xiong et al.
    do (dot)."""
    scale: Annotated[float, Field(gt=0)] = 100.0
    """Similarities are multiplied by it before the softmax: the inverse temperature."""
    negatives: Annotated[int, Field(ge=0)] = 0
    """Hard negatives drawn for each question; with soft labels, further candidates that the classifier scored."""
    batches: Literal["by_passage", RoundOrder] = "by_passage"
    """What stands in a batch: the questions of a passage together, so that it is encoded once, with others of similar length
    (by_passage); questions at random, never two of a passage (distinct); or questions of similar passages, from one cluster,
    never two of a passage, as Xiong et al. do (clusters)."""
    clusters: Annotated[int, Field(ge=2)] | None = None
    """Clusters of passages; without it, one for every eight batches of questions, and two at least."""
    cluster_epochs: Annotated[Positive, AfterValidator(_epochs_or_part)] = 1
    """Epochs after which passages are clustered anew, by what the model then makes of them; or a part of one, such as 0.5 or
    0.333: each pair is in one of the parts."""
    chunk: Count | None = None
    """Inputs that are encoded at a time: less memory for a quarter more time (gradient caching); without it, a batch."""
    max_tokens: InputTokens = 256
    """Tokens of an input."""
    freeze_embeddings: bool = True
    """Keep the backbone's word and position embeddings as they are."""
    dropout: Share | None = None
    """Dropout; without it, the backbone's."""
    alignment: Alignment | None = None
    """A cross-encoder that is trained beside the dual encoder and teaches it."""
    variational: Variational | None = None
    """Decoders that generate the texts of the pairs from their vectors."""

    @property
    def is_late(self) -> bool:
        """Whether candidates are sentences that are read inside their passage."""
        return self.context == "late_chunking" and self.unit == "sentence"

    def _data_files(self) -> Iterable[Path]:
        return self.data

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
        self._refuse_ignored("weight_power", self.silver != "none", "silver=positives or missing_gold")
        if self.chunk and self.optimiser.accumulate > 1:
            raise ValueError("chunk computes a batch of any size; set optimiser.batch higher, and optimiser.accumulate to 1")
        for key in ("clusters", "cluster_epochs"):
            self._refuse_ignored(key, self.batches == "clusters", "batches=clusters")
        if self.cluster_epochs > self.epochs:
            raise ValueError(f"cluster_epochs = {self.cluster_epochs} is more than the {self.epochs} epochs of the run")
        if self.optimiser.head_learning_rate is not None and not self._has_heads:
            raise ValueError(
                "optimiser.head_learning_rate would be ignored: it needs projection, pooling=attention, [alignment] or "
                "[variational]"
            )
        late = self.context == "late_chunking"
        if self.pooling == "cls" and late:
            raise ValueError("pooling = cls has no vector for a sentence of a passage: set context=cross_segment, or none")
        for key in ("hops", "joining"):
            self._refuse_ignored(key, self.pooling == "attention", "pooling=attention")
        if self.unit == "passage" and self.context == "cross_segment":
            raise ValueError("unit = passage has no sentence beside its passage; set context=late_chunking, or context=none")
        for table in ("alignment", "variational"):
            if getattr(self, table) and (self.pooling == "cls" or self.unit == "passage"):
                raise ValueError(
                    f"[{table}] needs the tokens of an answer: set pooling=mean or attention, and unit=sentence"
                )
        if self.alignment and self.optimiser.batch == 1:
            raise ValueError("optimiser.batch = 1 has no neighbours, whose places [alignment] teaches: set it higher")
        for beside in (self.alignment, self.variational):
            if beside and beside.ramp_epochs > self.epochs:
                raise ValueError(f"ramp_epochs = {beside.ramp_epochs:g} is more than the {self.epochs} epochs of the run")
        if self.alignment and self.variational:
            raise ValueError("[alignment] and [variational] are rivals: leave one of them out")
        if self.chunk and self.variational:
            raise ValueError("chunk encodes a batch in parts, which [variational] cannot: leave chunk out")
        if self.optimiser.batch == 1 and not self.negatives and (self.context != "late_chunking" or self.unit == "passage"):
            raise ValueError("optimiser.batch = 1 has no answer to tell the right one from: set it, or negatives, higher")
        if self.input_types and self.towers == "separate":
            raise ValueError("input_types = True tells one encoder what questions are; set towers=shared, or leave it out")
        if self.lora and not self._is_backbone_alone:
            raise ValueError(
                "[lora] saves a difference from the backbone alone: leave out encoder, towers, input_types, projection, "
                "pooling=attention and [alignment]"
            )
        return self

    @property
    def _is_backbone_alone(self) -> bool:
        of_its_shape = self.encoder == "backbone" and self.towers == "shared" and self.pooling != "attention"
        return of_its_shape and not self.input_types and self.projection is None and self.alignment is None

    @property
    def _has_heads(self) -> bool:
        beside = self.alignment is not None or self.variational is not None
        return self.projection is not None or self.pooling == "attention" or beside
