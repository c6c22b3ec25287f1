"""Requests and responses as shown in the API description. Requests accept no other keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from oreqa.core import Mode, Unit

MOST_CHARACTERS, MOST_ANSWERS, MOST_HITS, MOST_QUESTIONS = 1_000, 100, 100, 100
"""Characters of a question, answers and hits per question, and questions per batch, at most."""

MOST_VALUES_OF_FIELD = 100


def _question(text: str) -> str:
    if not any(map(str.isalnum, text)):
        raise ValueError("a question has a letter or a digit")
    return text


QuestionText = Annotated[
    StrictStr,
    Field(min_length=1, max_length=MOST_CHARACTERS, examples=["How many hearts does an octopus have?"]),
    AfterValidator(_question),
]
FieldValue = Annotated[StrictStr, Field(max_length=1000)]
WhereBody = dict[
    Annotated[StrictStr, Field(min_length=1, max_length=200)],
    FieldValue | Annotated[list[FieldValue], Field(min_length=1, max_length=MOST_VALUES_OF_FIELD)],
]
ShareValue = Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)]
CollectionName = Annotated[StrictStr, Field(min_length=1, max_length=64)]
DocumentId = Annotated[str, Field(pattern="^[0-9a-f]{16}$", examples=["865c35c7be9db942"])]


class Body(BaseModel):
    """A request's body."""

    model_config = ConfigDict(extra="forbid")


class Asking(Body):
    """How to answer questions, for all of them."""

    k: Annotated[StrictInt, Field(ge=1, le=MOST_ANSWERS, description="how many answers at most")] | None = None
    where: Annotated[WhereBody, Field(max_length=20, description="fields that documents must have, with their values")] = {}
    threshold: Annotated[ShareValue | None, Field(description="the lowest confidence of an answer")] = None
    collection: Annotated[CollectionName | None, Field(description="the collection to ask; all if left out")] = None


class AskBody(Asking):
    """One question."""

    question: QuestionText


class BatchBody(Asking):
    """Several questions."""

    questions: Annotated[list[QuestionText], Field(min_length=1, max_length=MOST_QUESTIONS)]


class SearchBody(Body):
    """A search."""

    question: QuestionText
    k: Annotated[StrictInt, Field(ge=1, le=MOST_HITS, description="how many hits at most")] = 10
    mode: Mode = "hybrid"
    unit: Unit = "sentence"
    where: Annotated[WhereBody, Field(max_length=20)] = {}
    collection: CollectionName | None = None


class LoginBody(Body):
    """The server's token, for a cookie that stands for it."""

    token: Annotated[StrictStr, Field(min_length=1, max_length=1000)]


class StretchRow(BaseModel):
    """A text and its character offsets in the document's text."""

    text: str
    start: int
    end: int


class SourceRange(BaseModel):
    """A range of characters of a file."""

    start: int
    end: int


class PlaceRow(BaseModel):
    """The location of a text in its file."""

    name: str | None
    page: int | None
    line: int | None
    source: SourceRange | None
    document_id: str


class EvidenceRow(BaseModel):
    """What proves an answer or was found: a sentence in its passage, and where to see it."""

    document: str
    title: str
    heading: str
    place: PlaceRow
    sentence: StretchRow
    passage: StretchRow
    fields: dict[str, str]
    score: float
    scores: dict[str, float]
    id: str
    url: str
    link: str | None
    citation: str
    collection: str
    generation: int


class HitRow(EvidenceRow):
    """A hit of a search."""

    rank: int


class AnswerRow(EvidenceRow):
    """An answer."""

    text: str
    start: int
    end: int
    whole_text: Annotated[str, Field(description="what to show: all spans with commas, or the text where there are none")]
    spans: list[StretchRow]
    confidence: float | None
    certainty: Literal["sure", "likely", "weak", "computed", "set by you", "not calibrated"]
    form: Literal["text", "block", "computed"]
    block: dict[str, Any] | None
    computation: dict[str, Any] | None
    newer: str | None
    contradicted_by: str | None


class ReplyRow(BaseModel):
    """The answers to a question; without any, the nearest passages, and perhaps a guess."""

    question: str
    is_found: Annotated[bool, Field(alias="found")]
    calibrated: bool
    answers: list[AnswerRow]
    respelt: dict[str, str]
    guess: AnswerRow | None = None
    reason: Annotated[str | None, Field(description="why there is no answer")] = None
    nearest: list[HitRow] | None = None
    generations: dict[str, int]


class RepliesRow(BaseModel):
    """The replies to a batch, in the order of the questions."""

    replies: list[ReplyRow]


class RankingRow(BaseModel):
    """The hits of a search, best first."""

    question: str
    mode: Mode
    unit: Unit
    hits: list[HitRow]
    reason: Annotated[str | None, Field(description="why there are no hits")] = None
    generations: dict[str, int]


class ProblemRow(BaseModel):
    """An error (RFC 9457): ``detail`` says what is wrong and how to fix it."""

    type: str
    title: str
    status: int
    detail: str
    faults: list[dict[str, str]] | None = None


def problems_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of the errors that a route may return."""
    meanings = {
        400: "a value that cannot be used, or a body that is not JSON",
        401: "no token, or a wrong one",
        403: "asked by a page of another site",
        404: "there is no such thing",
        408: "the body came too slowly",
        409: "the file is not the one that was indexed any more, or there is one of this name",
        413: "the body is too large",
        415: "the body is not JSON",
        421: "a host that this server does not answer for",
        422: "a body that is not as the schema says",
        429: "too many requests; Retry-After says when to come back",
        503: "too many wait, the index cannot be read, or a page cannot be drawn; Retry-After says when to come back",
    }
    content = {"application/problem+json": {"schema": {"$ref": f"#/components/schemas/{ProblemRow.__name__}"}}}
    return {status: {"description": meanings[status], "content": content} for status in statuses}


POSTED = problems_of(400, 401, 403, 404, 408, 413, 415, 421, 422, 429, 503)
