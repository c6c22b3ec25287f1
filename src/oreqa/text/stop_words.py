"""The definition of a word, and English stop words, which say nothing about a topic by themselves."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits."""

_WORD_LIST = """\
a about above across after again against all almost along already also although always am among an and another any are
around as at away back be became because become been before began being below besides between both but by called came
can cannot could despite did do does done down due during each either else even ever every few finally first for found
from further gave get given go had has have he hence her here hers herself him himself his how however i if in indeed
instead into is it its itself just kept known last later least led less like made mainly make many may me might more
moreover most mostly much must my near nearly neither never nevertheless no nor not nothing now of off often on once one
only onto or other others otherwise our out over own per perhaps put quite rather really said same saw say see seen
several shall she should since so some soon still such take taken than that the their them themselves then there thereby
therefore these they this those though through throughout thus to together too took toward towards under unlike until up
upon us use used uses using usually very was we well went were what when where whereas whether which while who whom
whose why will with within without would yet you your yours"""

STOP_WORDS = frozenset(_WORD_LIST.split())
"""In lower case."""
