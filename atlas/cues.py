r"""What the words of a turn say of its topic: phrases that turn to something else, and names. By patterns alone.

The phrases are English; names are found in any script that has capitals.

>>> bool(TURNING.search("By the way, who has it?")), bool(OPENING.match("Ada: Oh hi there")), list(names("Ask Ben."))
(True, True, ['ben'])
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: Words that turn to something else, or back to it.
TURNING: Final = re.compile(
    r"\b(?:by the way|btw|anyways?|anyhow|speaking of|moving on|unrelated(?:ly)?|off[- ]topic|one more thing"
    r"|on (?:an|a different|another|an unrelated) ?(?:other )?(?:note|topic|subject|matter)"
    r"|(?:chang|switch)(?:e|ing) (?:the )?(?:topics?|subjects?|gears)|(?:new|different|next|another) (?:topic|subject)"
    r"|(?:back|return(?:ing)?) to|(?:let'?s|let us) (?:talk about|turn to|move on|get back))\b",
    re.IGNORECASE,
)
#: A greeting among the first two words; before it a speaker's name at the most.
OPENING: Final = re.compile(
    r"\s*(?:[\w .'-]{1,40}:\s*)?(?:\w{1,20}\W{1,3})?"
    r"(?:hey|hi|hiya|hello|greetings|welcome back|good (?:morning|afternoon|evening))\b",
    re.IGNORECASE,
)
#: What people say who have not spoken for a while.
AGAIN: Final = re.compile(
    r"\b(?:since we(?:'ve)? (?:last )?(?:talked|spoke|spoken|chatted|met)|since last time|long time,? no|been a while"
    r"|(?:haven't|have not|last) (?:talked|spoke|spoken|chatted|met)|how have you been|what(?:'s| is) (?:up|new|been)"
    r"|how(?:'s| is| are) (?:it going|everything|things|you doing)|been up to"
    r"|(?:good|great|nice) to (?:see|hear from) you)\b",
    re.IGNORECASE,
)
#: Farewells.
CLOSING: Final = re.compile(
    r"\b(?:bye|goodbye|good ?night|see (?:you|ya)|take care|keep in touch|that(?:'s| is) all"
    r"|(?:talk|speak|chat|catch)(?: up)?(?: to| with)?(?: you| ya)? (?:soon|later)"
    r"|have (?:a |an )?(?:great|good|nice|fun|safe|lovely|wonderful))\b",
    re.IGNORECASE,
)
#: A word, or one with digits or underscores in it, and what stands before it.
_WORD: Final = re.compile(r"(?P<before>^|[^\w\s]\s*|\s+)(?P<word>\w[\w'’-]*)")
_OPENS: Final = frozenset('.!?:;…"“(')
#: So many characters are read of one text.
LONGEST: Final = 2000


def names(text: str) -> Iterator[str]:
    """Words with a capital that no beginning of a sentence explains, and words such as `floor_5`; in lower case."""
    for match in _WORD.finditer(text[:LONGEST]):
        word, before = match["word"], match["before"]
        named = word[0].isupper() and len(word) > 1 and before != "" and before[0] not in _OPENS
        if named or (not word.isalpha() and ("_" in word or (word[0].isalpha() and any(map(str.isdigit, word))))):
            yield word.casefold().removesuffix("'s").removesuffix("’s")
