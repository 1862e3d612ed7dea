"""See through disguise: find characters that hide in text, and show the text as a reader takes it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Scripts whose letters join or part by U+200C and U+200D, and the signs that emoji are joined from.
_JOINED = (
    "\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u1b00-\u1bff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc"
    "\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\u20e3\U0001f000-\U0001faff"
)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese and Khmer part words by U+200B
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIDDEN = re.compile(
    "[\u034f\u202a-\u202e\u2060-\u206f\u3164\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
    f"|(?<![{_UNSPACED}])\u200b|\u200b(?![{_UNSPACED}])|(?<![{_JOINED}])[\u200c\u200d]|(?<=[\\s\\S])\ufeff"
    f"|(?P<mark>[\u200e\u200f\u061c])|[\ufe00-\ufe0f]{{2}}|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u060b\u060d-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# Flags of regions are spelled in tag characters behind a black flag.
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f")


def hidden_places(text: str) -> Iterator[int]:
    """Where on each line the first character stands that hides text or turns its direction.

    What scripts and emoji need is not hidden: joiners among their letters, direction marks in a line of such a script.
    """
    if text.isascii():
        return
    text = _FLAG.sub(lambda match: " " * len(match.group()), text)
    line_end, is_mixed = -1, False
    reported = -1
    for match in _HIDDEN.finditer(text):
        at = match.start()
        if at >= line_end:
            line_start, line_end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            line_end = len(text) if line_end < 0 else line_end
            is_mixed = _RIGHT_TO_LEFT.search(text, line_start, line_end) is not None
        if reported != line_end and not (match["mark"] and is_mixed):
            reported = line_end
            yield at


_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufdfa\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e01ef]"
)
_MARKS = re.compile("[\u0300-\u036f\u0488\u0489\u20d0-\u20df]")
_BREAKS = dict.fromkeys(map(ord, "\r\v\f\x85\u2028\u2029"), "\r")
_LOOKS = str.maketrans(
    "аеорсухкмтвніјѕԁһԛԝӏАЕОРСУХКМТВНІЈЅαορνεικτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxkmtbhijsdhqwlAEOPCYXKMTBHIJSaopveiktuxABEZHIKMNOPTYX",
)
_SMALL = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz")
_MIXED = re.compile(r"(?=[\u0370-\u052f]|[a-zA-Z])\w{1,60}")
_TWO_SCRIPTS = re.compile(r"[a-zA-Z][\u0370-\u052f]|[\u0370-\u052f][a-zA-Z]")
_EMPHASIS = re.compile(r"[*~`]{1,3}|_{1,3}")
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*·][^\W\d_](?![^\W_])){3,}+")
_RUN_TOGETHER = re.compile(
    r"ignore|disregard|forget|override|bypass|previous|prior|above|earlier|system|instructions?|prompts?|rules"
    r"|guidelines|everything|reveal|print|all(?=[apy]|$)|your"
)


def shown(text: str) -> str:
    """`text` as a reader takes it: plain letters, nothing hidden, no letter-spacing; every line stays where it was."""
    text = text.replace("\r\n", "\n").translate(_BREAKS)
    text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).translate(_SMALL)
        text = unicodedata.normalize("NFC", _MARKS.sub("", text))
        if _TWO_SCRIPTS.search(text):
            text = _MIXED.sub(_in_one_script, text)
    text = _EMPHASIS.sub(_without_emphasis, text)
    text = _SPACED.sub(_closed_up, text)
    return re.sub(r"[ \t]{2,}", " ", text)


def _in_one_script(word: re.Match[str]) -> str:
    return word.group().translate(_LOOKS) if _TWO_SCRIPTS.search(word.group()) else word.group()


def _without_emphasis(sign: re.Match[str]) -> str:
    """Signs inside a word go, so that they part nothing; `_` is emphasis only at the edge of a word."""
    before, after = sign.string[sign.start() - 1 : sign.start()], sign.string[sign.end() : sign.end() + 1]
    is_inside = before.isalnum() and after.isalnum()
    return "" if is_inside != sign.group().startswith("_") else sign.group()


def _closed_up(letters: re.Match[str]) -> str:
    """Letters without what stands between them; words that ran together are parted again."""
    return _RUN_TOGETHER.sub(r" \g<0> ", re.sub(r"[\W_]", "", letters.group()).lower())


_SOFT_BREAK = re.compile(r"\n[ \t>/]{0,8}(?=[^\s\-*+>#|`<\d•])")


def flowing(text: str) -> str:
    r"""`text`, as long as before, with the line breaks inside a paragraph as `\r`: sentences go on over them."""
    return _SOFT_BREAK.sub(lambda match: "\r" * len(match.group()), text)
