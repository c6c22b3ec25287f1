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
"""Which silver pairs are used as answers."""
RoundOrder = Literal["distinct", "clusters"]
"""Orders that ``RetrieverRounds`` draws anew for each epoch."""


Positive = Annotated[float, Field(gt=0)]


def _four(value: object) -> object:
    if isinstance(value, list | tuple) and len(value) != 4:
        raise ValueError("it must be one number, or a list of four, one for each pair of roles")
    return value


OfRoles = Annotated[Positive | tuple[Positive, Positive, Positive, Positive], BeforeValidator(_four)]
"""A value for all pairs of roles, or one for each, in the order of _TERMS."""


def _epochs_or_part(value: float) -> float:
    """Return a whole number, or one divided by a whole number, correcting a recipe's rounding."""
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
    """The similarity of two vectors: their inner product (inner), or their distance (gaussian)."""
    width: OfRoles | Literal["median"] = 1.0
    """The width 2σ² of the Gaussian kernel: one for all pairs of roles; a list of four: for the answers around a
    question, the questions around an answer, the questions around a question, the answers around an answer; or, for each
    of them, the median of the batch's squared distances (median)."""
    cross_width: OfRoles | Literal["median"] | None = None
    """The same for the cross-encoder; by default that of the dual encoder."""
    scale: OfRoles | None = None
    """Factor of the kernel before the softmax: the inverse temperature, or a list of four, as for width; by default the
    recipe's scale."""
    cross_scale: OfRoles | None = None
    """The same for the cross-encoder: if higher than scale, only its nearest neighbours are taught; by default scale."""
    answer_question: NonNegative = 0.5
    """Weight of the term of the answers around a question."""
    question_answer: NonNegative = 0.5
    """Weight of the term of the questions around an answer."""
    question_question: NonNegative = 0.5
    """Weight of the term of the questions around a question; the paper's is 1e4."""
    answer_answer: NonNegative = 0.5
    """Weight of the term of the answers around an answer; the paper's is 1e4, too."""
    ramp_epochs: NonNegative = 1.0
    """Epochs over which the weights of the four terms rise from 0; in the paper 5."""
    detach: bool = True
    """Keep the alignment from training the cross-encoder, which is then only its target."""
    keep_cross: bool = False
    """Also save the cross-encoder, in the folder cross/ beside the model, for inspection."""

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
    """Weight of the texts' negative log-likelihood, in nats per pair."""
    kl_weight: NonNegative = 0.005
    """Weight of the divergence of the latent vectors from the prior, in nats per pair."""
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
    """The model to start from: a name or a folder."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """SQuAD and MRQA files, without their held-out articles, pair files, and BEIR folders."""
    dev_metric: Literal["mrr", "r@1"] = "mrr"
    """The metric on dev, which may also be a BEIR folder with a split dev: the mean reciprocal rank of a question's
    answer, or the share of its answers that rank first."""
    epochs: Count = 1
    """How often each pair is seen."""
    unit: Literal["sentence", "passage"] = "sentence"
    """What questions learn to find: the sentence that answers, or the whole passage that contains it, as in Xiong et al."""
    context: Literal["late_chunking", "cross_segment", "none"] = "late_chunking"
    """What the encoder sees with a sentence: all sentences of a passage in one pass, which is cheap (late_chunking);
    each with its passage as second segment, as in Yang et al. (cross_segment); or nothing (none)."""
    encoder: Literal["backbone", NewEncoder] = "backbone"
    """What reads a text: the whole backbone, or two new layers over its token embeddings, as in Wang et al.; attention and
    projection are then new, too."""
    pooling: Literal["cls", "mean", "attention"] = "mean"
    """How tokens become a vector: the first token, the mean of all, or several means weighted by attention (attention)."""
    hops: Count = 4
    """Number of means taken by attention, each with its own weights."""
    joining: Joining = "averaged"
    """How they are combined: their average, or their concatenation, that many times as wide (concatenated)."""
    towers: Literal["shared", "separate"] = "shared"
    """Questions and passages share one encoder (shared), or have one each, of one shape, as in Xiong et al.

    (separate): twice the weights.
    """
    input_types: bool = False
    """Give questions a learned input-type embedding, as in Yang et al."""
    projection: Count | None = None
    """Dimensions of a linear layer on top, the backbone's if it has one of this size; by default there is none."""
    loss: Annotated[str, OneOf(RETRIEVER_LOSSES)] = "softmax"
    """The answer against all other candidates of a batch (softmax), or this mixed with a classifier's probabilities of the
    answer and of other candidates of the question (soft_labels)."""
    silver: Silver = "positives"
    """Which silver pairs are used as answers: all of at least min_probability (positives), the likeliest of them if a
    question has no gold (missing_gold), or none. In each case they are no negatives of their questions."""
    min_probability: Share = 0.5
    """The classifier's probability from which a silver pair counts as an answer; one below is a hard negative."""
    weight_power: NonNegative = 2.0
    """A silver pair of probability p has p to this power as its weight."""
    similarity: Literal["cosine", "dot"] = "cosine"
    """Questions and candidates are compared by cosine, or by the inner product of vectors of any length, as in Xiong et al.
    (dot)."""
    scale: Annotated[float, Field(gt=0)] = 100.0
    """Factor of similarities before the softmax: the inverse temperature."""
    negatives: Annotated[int, Field(ge=0)] = 0
    """Hard negatives drawn for each question; with soft labels, further candidates scored by the classifier."""
    batches: Literal["by_passage", RoundOrder] = "by_passage"
    """The content of a batch: the questions of a passage together, so that it is encoded once, with others of similar length
    (by_passage); random questions, never two of a passage (distinct); or questions of similar passages, from one cluster,
    never two of a passage, as in Xiong et al. (clusters)."""
    clusters: Annotated[int, Field(ge=2)] | None = None
    """Clusters of passages; by default one for every eight batches of questions, and at least two."""
    cluster_epochs: Annotated[Positive, AfterValidator(_epochs_or_part)] = 1
    """Epochs after which passages are clustered anew, with the vectors of the model at that time; or a part of one, such
    as 0.5 or 0.333: each pair is in one of the parts."""
    chunk: Count | None = None
    """Inputs encoded at a time: less memory for a quarter more time (gradient caching); by default a batch."""
    max_tokens: InputTokens = 256
    """Tokens of an input."""
    freeze_embeddings: bool = True
    """Freeze the backbone's word and position embeddings."""
    dropout: Share | None = None
    """Dropout; by default the backbone's."""
    alignment: Alignment | None = None
    """A cross-encoder that is trained beside the dual encoder and teaches it."""
    variational: Variational | None = None
    """Decoders that generate the texts of the pairs from their vectors."""

    @property
    def is_late(self) -> bool:
        """Whether candidates are sentences read inside their passage."""
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
        for objective in (self.alignment, self.variational):
            if objective and objective.ramp_epochs > self.epochs:
                raise ValueError(f"ramp_epochs = {objective.ramp_epochs:g} is more than the {self.epochs} epochs of the run")
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
        same_shape = self.encoder == "backbone" and self.towers == "shared" and self.pooling != "attention"
        return same_shape and not self.input_types and self.projection is None and self.alignment is None

    @property
    def _has_heads(self) -> bool:
        has_token_losses = self.alignment is not None or self.variational is not None
        return self.projection is not None or self.pooling == "attention" or has_token_losses
