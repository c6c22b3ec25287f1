"""What a question asks about a reference entry: the names in it, its other words, and whether it asks for a definition."""

from __future__ import annotations

import re

from oreqa.text.names import is_identifier, key_of
from oreqa.text.stop_words import STOP_WORDS, WORD

_TOKEN = re.compile(r"[\w-]+(?:::?(?=[^\W\d]{2})[\w-]+)*")
_INSIDE = re.compile(r"\w[-_:]\w|^-[A-Za-z]")

_KIND = r"(?:option|setting|parameter|variable|directive|keyword|command|flag|attribute|switch|field|argument)"
_PHRASE = r"(?!(?:in|of|for|on|from|by|with|do|mean)\b)[a-z][\w.]*(?:[ -]\w+){0,3}?"
_PLACE = r"(?: (?:in|of|for|on|from|by|with) .*)?\W*$"
"""Where to look for a thing, as "in rsyncd.conf", and the end of a question."""

_PLAIN = re.compile(
    rf"(?:^|[.,:] ?)what (?:does|is) (?:the )?(?:{_KIND} |[\w.-]+ {_KIND} )?(?P<subject>{_PHRASE})(?: {_KIND})?"
    rf"(?: (?:do|mean|control|return|set|set to|used for|for|by default)){_PLACE}"
    r"|(?:^|[.,:] ?)what is (?P<thing>[a-z]\w+)\W*$"
    rf"|\b(?:default|meaning|effect|purpose)(?: value)? (?:of|for) (?:the )?(?:{_KIND} |[\w.-]+ {_KIND} )?"
    rf"(?P<object>{_PHRASE})(?: {_KIND})?(?: by default)?{_PLACE}"
    rf"|^\W*(?:is|are) (?:the )?(?:{_KIND} )?(?P<state>[a-z][\w.]*)(?: {_KIND})?"
    r" (?:\w+ ){0,2}by default\W*$"
    rf"|\bthe (?P<kind>[a-z]\w+) {_KIND}\b|\bthe {_KIND} (?P<named>[a-z]\w+)\b"
    r"|[`'\"“‘](?P<quoted>[a-z]\w+(?: \w+){0,3})[`'\"”’]",
    re.IGNORECASE,
)
"""Plain words that a question uses as names of options and settings: "What does reload do?", "the reload command"."""

_BEHIND = re.compile(r"(?:(?<= in )|(?<= of )|(?<= for )|(?<= with ))[a-z][\w.+-]*(?: [a-z][\w.+-]*)*(?=\W*$)")
_BEFORE = re.compile(r"[a-z][\w.+-]*(?= --?[a-z])")
"""What may name a program: the last words of a question after a preposition, and a word before an option."""

_PLAIN_OPTION = re.compile(r"(?<![\w-])--?([a-z]{2,})(?![-_]?\w)")
"""An option that is a plain word apart from its dashes."""

_NUMBER = re.compile(r"\b(?:does|option|flag|switch) (?P<name>-\d)\b")

_GENERAL = frozenset(
    ("option", "options", "setting", "parameter", "variable", "directive", "keyword", "command", "flag", "attribute",
     "switch", "field", "argument", "value", "values", "default", "defaults", "mean", "meaning", "effect", "purpose",
     "control", "return", "set", "work", "stand", "define", "program")
)  # fmt: skip
"""Words that say nothing about a topic beside a name."""

_PRONOUNS = frozenset(
    ("it", "he", "she", "they", "we", "you", "one", "this", "that", "these", "those", "there", "i", "which")
)

_WHAT = re.compile(r"^\W*(?:(?:and |so )?what|explain|describe|(?:the )?(?:meaning|effect|purpose) of)\b", re.IGNORECASE)


_YES_OR_NO = re.compile(
    r"""^(?:(?!(?:what|which|who|whose|whom|how|why|where)\b).*[,.?!]\ +)?(?:and\ |but\ |so\ )?
    (?:am|can|could|do|does|did|is|are|was|were|must|should|may|might|will|would|has|have)\ (?!
        .*\ or\ (?!not\b)
        |there\ (?:an?|any|some)\ (?:\w+\ )?(?:command|flag|key|option|setting|switch|variable)\b
        |(?:any|some)one\ know|you\ (?:please\ )?(?:give|know|name|say|tell)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS_AT_THE_END = re.compile(
    r"\W*(?:can|will|may|might|do|does|did|has|have|is|are|was|were)\b[^.?!;]*(?<! depend)(?<! matter)"
    r" (?:in|on|at|to|for|from|with|by|of|during|after|before|since|until) (?:which|what)"
    r" (?!(?:i|it|he|she|we|you|they|is|are|was|were)\b)[\w'’-]+\W*$",
    re.IGNORECASE,
)
"""What looks like a yes-or-no question, as "Will Smith starred in which film?"."""


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question can be answered by yes or no.

    Examples:
        >>> asks_yes_or_no("Can it be undone?"), asks_yes_or_no("Is it red or blue?")
        (True, False)
    """
    return bool(_YES_OR_NO.match(question.strip())) and not _ASKS_AT_THE_END.match(question)


def queried_names(question: str) -> set[str]:
    """Return the names whose entry a question may ask for, as ``key_of`` writes them.

    They are names with a hyphen or an underscore, and plain words used as names.

    Examples:
        >>> sorted(queried_names("Is -n --dry-run, and what does pid file do?"))
        ['--dryrun', '-n', 'pidfile']
        >>> queried_names("What is the capital of Chad?")
        set()
    """
    names = {key_of(token) for token in _TOKEN.findall(question) if _INSIDE.search(token) or is_identifier(token)}
    plain = {(match.lastgroup, match[match.lastgroup or 0].casefold()) for match in _PLAIN.finditer(question)}
    words = {word for group, word in plain if word not in (_PRONOUNS if group == "subject" else STOP_WORDS | _GENERAL)}
    names |= {match["name"] for match in _NUMBER.finditer(question)} | {key_of(word) for word in words}
    places = {key_of(word) for words in _BEHIND.findall(question.casefold()) for word in words.split()}
    return names - places or names


def named_program(question: str) -> set[str]:
    """Return the words of a question that may name the program whose option it asks about: those before one, and after "in".

    Examples:
        >>> sorted(named_program("What does wget -P do?")), sorted(named_program("What does -P do in GNU wget?"))
        (['wget'], ['gnu', 'wget'])
    """
    low = question.casefold()
    return {word for way in (_BEHIND, _BEFORE) for words in way.findall(low) for word in words.split()} - STOP_WORDS


def document_names(key: str) -> set[str]:
    """Return the names in a document's path: its file and folders without extensions, and the words in them.

    Examples:
        >>> sorted(document_names("man/git-commit.1.gz"))
        ['commit', 'git', 'git-commit', 'git-commit.1', 'man']
    """
    parts = [part.casefold() for part in re.split(r"[/\\#]", key) if part]
    stems = {stem for part in parts for stem in (part.partition(".")[0], part.removesuffix(".gz"), part.rpartition(".")[0])}
    return {name for stem in stems for name in (stem, stem.rpartition(".")[0], *stem.split("-")) if name}


def contains_options(question: str, text: str) -> bool:
    """Return whether a text contains the question's plain-word options with their dashes: "--delete", not "delete"."""
    options = _PLAIN_OPTION.findall(question)
    return all(re.search(rf"(?<![\w-])[-‐‑–—−]+{option}(?![-_]?\w)", text, re.IGNORECASE) for option in options)


def beside_names(question: str, names: set[str]) -> set[str]:
    """Return the question's words that are not among the names, such as those of the program it asks about."""
    low = question.casefold()
    words = {word for word in WORD.findall(low) if word not in STOP_WORDS | _GENERAL}
    return {word for word in words if not any(word in name.casefold() for name in names)}


def asks_what_it_is(question: str) -> bool:
    """Return whether a question may ask what something does or is, as "What does --keep do?", or is only its name.

    Examples:
        >>> asks_what_it_is("What does --keep do?"), asks_what_it_is("How is --keep used?"), asks_what_it_is("rsync --keep")
        (True, False, True)
    """
    low = question.casefold()
    return "default" not in low and bool(_WHAT.match(question) or STOP_WORDS.isdisjoint(WORD.findall(low)))
