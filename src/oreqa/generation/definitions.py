"""Questions from lists of options, settings and commands, by rule: each entry's description asks for its name.

Manuals explain hundreds of such names, and people ask for them ("Which switch makes it ...?"), while readers and retrievers
learn from encyclopedias, which have none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oreqa.arguments import as_path, count
from oreqa.core import Passage
from oreqa.errors import InputError
from oreqa.generation.drafts import Draft, check_out, write_questions
from oreqa.index.search import Index
from oreqa.progress import Progress, no_progress, show
from oreqa.text.names import names_in

STYLE = "definition"
"""The style of these questions, in the file of pairs."""

FORMS = 2
"""Questions that are asked for a name, in different words."""

WORDS = range(4, 21)
"""Words of a description that makes a question."""

_PARAGRAPH = re.compile(r"[^\n](?:[^\n]|\n(?![ \t]*\n))*")
_SENTENCE = re.compile(r"(.+?)(?:[:;](?:\s|$)|[.](?:\s+[A-Z(\[]|$))")
_REMARK = re.compile(r"\s*\([^()]*\)")
_DEFAULT = re.compile(
    r"[Dd]efault(?: value| setting)?(?: is set to| is|s to| =|:)\s+[\"'“`]?"
    r"(\d[\w%]*(?=[;,)\"'”`\s]|\.(?:\s|$)|$)|[^\s;,()\"'”`]*[^\s;,()\"'”`.](?=[;,)\"'”`]|\.(?:\s|$)|$))"
)
"""A default: a number, or what ends at a mark or with the sentence."""

_NO_VALUES = {"a", "an", "the", "to", "that", "this", "not", "in", "for", "of", "only", "used", "set", "usually"}
"""Words that follow "the default is" and are no value."""

_SELF = re.compile(r"^(?:this|the) (?:option|flag|switch|directive|setting|parameter|command|variable)\s+", re.IGNORECASE)

_VERB_LIST = """
accept add adjust allow append apply archive ask avoid bind block bypass cache call cause change check clear close
collapse combine compile compress configure connect control convert copy count create cut decode decompress decrypt
define delay delete descend describe detach detect determine disable disallow discard display drop dump echo emit
enable encode encrypt ensure erase exclude execute exit expand export extract fail fetch filter find flush follow
force format generate get give group handle hide highlight ignore include increase indicate inhibit insert install
interpret invoke join jump keep kill launch leave limit list listen load lock log look lower make map mark match merge
modify mount move name obey omit open order output override overwrite parse pass perform permit place prefer prepend
preserve prevent print process prompt provide put query quit quote raise read record redirect reduce refresh refuse
reject release reload remove rename repeat replace report request require reset resize resolve respect restart restore
restrict retain retry return reverse rotate run save scan scroll search select send separate set show shut silence
skip sort specify split start stop store strip suppress swap switch synchronize tell terminate test toggle trace track
transfer transform treat trim truncate try turn unlock unset update upload use validate verify wait warn wrap write
"""
_VERBS = frozenset(_VERB_LIST.split())
"""Verbs that descriptions begin with."""


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z")) else "s")


_BASE = {_third_person(verb): verb for verb in _VERBS} | {"quits": "quit"}

_OF_NAME = (
    "Which {noun} {does}?",
    "What {noun} {does}?",
    "How do I {do}?",
    "How can I {do}?",
    "Which {noun} should I use to {do}?",
    "Which {noun} is there to {do}?",
)
_OF_THING = (
    "Which {noun} sets {thing}?",
    "Which {noun} is for {thing}?",
    "Where do I set {thing}?",
    "What {noun} holds {thing}?",
)
_OF_DEFAULT = (
    "What is the default of {name}?",
    "What does {name} default to?",
    "What is {name} set to out of the box?",
    "Which value has {name} if I do not set it?",
)
_NOUNS = {True: ("option", "flag", "switch"), False: ("setting", "option", "parameter", "directive")}
"""What people call a name that begins with a hyphen, and another."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name that a passage defines: its first character, and its description with the first character of that."""

    name: str
    start: int
    description: str
    place: int


def mine_definitions(out: str | Path, *, index: str | Path, seed: int = 0, progress: Progress = no_progress) -> int:
    """Write to ``out`` questions that ask for the options, settings and commands that the documents of an ``index`` define.

    "--dry-run" above "Show what would be deleted." gives "Which switch shows what would be deleted?", with its name as the
    answer. ``FORMS`` are asked for each, drawn by ``seed``. The file has pairs (.jsonl), or the SQuAD format (.json).
    Returns the number of questions. Raises InputError for an ``out`` that exists, and if nothing is defined.
    """
    out, rng = check_out(as_path(out, "out")), random.Random(count(seed, "seed", 0))
    with Index.open(as_path(index, "an index's folder")) as opened, show(progress, "looking for definitions") as advance:
        passages = []
        for passage in opened.passages():
            passages.append(passage)
            advance(1)
    drafts = definition_drafts(passages, rng)
    if not drafts:
        raise InputError(f"{index}: no list of options, settings or commands with descriptions was found")
    write_questions(out, passages, drafts)
    return len(drafts)


def definition_drafts(passages: Sequence[Passage], rng: random.Random) -> list[Draft]:
    """Questions for the names that the passages define, each question once."""
    drafts: dict[str, Draft] = {}
    for number, passage in enumerate(passages):
        for entry in find_entries(passage.text):
            for question, answer, start in entry_questions(entry, rng):
                drafts.setdefault(question, Draft(number, answer, start, STYLE, question))
    return list(drafts.values())


def find_entries(text: str) -> Iterator[Entry]:
    """The entries of a passage: lines that name something, and what it does, in the same paragraph or in the next."""
    above: list[tuple[str, int]] = []
    for paragraph in _PARAGRAPH.finditer(text):
        names: list[tuple[str, int]] = []
        place = paragraph.start()
        for line in paragraph.group().split("\n"):
            matches = names_in(line)
            if not matches:
                break
            names += [(name, place + start) for name, start in matches]
            place += len(line) + 1
        names, description = names or above, _description(text[place : paragraph.end()])
        if names and len(description.split()) >= WORDS.start:
            long = [pair for pair in names if pair[0].startswith("--")]
            yield Entry(*(long or names)[0], description, place)
        above = [] if description else names


def _description(text: str) -> str:
    """The text up to the line that begins the next entry, as in a table whose rows have no blank lines between them."""
    lines = text.split("\n")
    ends = (place for place, line in enumerate(lines) if place and (line.startswith("-") or " | " in line or names_in(line)))
    return "\n".join(lines[: next(ends, len(lines))]) if " | " not in lines[0] else ""


def entry_questions(entry: Entry, rng: random.Random) -> list[tuple[str, str, int]]:
    """Questions of an entry with their answers and the answers' first characters: for its name, and for its default."""
    noun = rng.choice(_NOUNS[entry.name.startswith("-")])
    questions = [(question, entry.name, entry.start) for question in _name_questions(entry.description, noun, rng)]
    default = _DEFAULT.search(entry.description)
    if default and default.group(1).lower() not in _NO_VALUES:
        question = rng.choice(_OF_DEFAULT).format(name=entry.name)
        questions.append((question, default.group(1), entry.place + default.start(1)))
    return questions


def _name_questions(description: str, noun: str, rng: random.Random) -> list[str]:
    """Questions that the first sentence of a description answers; none if it does not begin with a verb or a thing."""
    text = _SELF.sub("", _REMARK.sub("", " ".join(description.split())).strip(), count=1)
    match = _SENTENCE.match(text)
    phrase = match.group(1) if match else text
    words = phrase.split()
    if len(words) not in WORDS or re.search(r"[|{}\[\]<>=]", phrase):
        return []
    first, rest = words[0].lower(), " ".join(words[1:])
    base = _BASE.get(first, first if first in _VERBS else "")
    if base:
        filled = {"do": f"{base} {rest}", "does": f"{_third_person(base)} {rest}"}
        return [form.format(noun=noun, **filled) for form in rng.sample(_OF_NAME, FORMS)]
    if first in ("the", "a", "an") and not re.search(r"\b(?:is|are|was|will|can|may|must|should)\b", phrase):
        return [rng.choice(_OF_THING).format(noun=noun, thing=f"{first} {rest}")]
    return []
