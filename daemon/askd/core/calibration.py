"""What one model makes of a text: a factor to each class of text, learned from reported usage.

After each answer a provider says how many tokens the request had, and the request
had been measured by class (`scripts`). The factors are what fits all reports best:
a linear regression that is brought up to date by one report at a time (a Kalman
filter), and that knows how unsure each factor is and which of them go together. So
three turns of Russian teach Russian, hint at what a small vocabulary makes of
Arabic, and leave English as it was.

Nothing that a provider says can make it jump. A report that cannot be a count
(nothing, a third or six times of what was expected, one number for requests of
different size) is passed over; one that is merely far from what is well known by
now is believed when three in a row agree; and no report moves an estimate of the
request that it was about by more than 60 %. Pure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from askd.core.scripts import CLASSES, Class
from askd.core.tokens import Size

_DOUBTS: Mapping[Class, float] = {
    "words": 0.25,
    "digits": 0.6,
    "marks": 0.6,
    "space": 0.6,
    "images": 0.6,
    "thoughts": 0.6,
    "frames": 0.7,
    "base": 4.0,
}
"""How far a factor may be from 1 before anything is known, as a standard deviation. Vocabularies
agree on English words, and on nothing else; for `base` a template's own prompt is allowed."""

_FOREIGN: Sequence[Class] = (
    "latin", "greek", "cyrillic", "semitic", "indic", "han", "hangul", "symbols", "emoji",
)  # fmt: skip
_SHARED_DOUBT, _OWN_DOUBT = 0.75, 0.35
"""Of the scripts beside ASCII: a vocabulary that is too small for one is so for the others."""

_BOUNDS: Mapping[Class, tuple[float, float]] = {
    "images": (0.02, 4.0),  # one provider takes 85 for what another takes 1,600 for
    "thoughts": (0.0, 4.0),  # some are not sent back at all
    "frames": (0.25, 8.0),
    "base": (0.0, 60.0),
}
_OTHER_BOUNDS = (0.3, 6.0)

_SURENESS = 0.06
"""The doubt that is always left of a factor that a request was made of: texts differ, and what a
name stands for may change."""
_SCATTER = 0.05
"""How far texts of one kind are from their kind's average, as a share."""
_SLACK_TOKENS = 4.0
"""And what is always left open, for templates add what they add."""

_MOST_STEP = 1.6
"""The most that one report changes an estimate by: three come to a factor of four."""
_MOST_RATIO, _MOST_SLACK_TOKENS = 6.0, 500.0
"""A report beyond six times the first estimate, and this much for a hidden prompt, is no count."""
_LEAST_RATIO, _LEAST_SLACK_TOKENS = 0.3, 64.0
"""A report below this share of it is one of what was not cached, say."""
_ODD_DEVIATIONS = 4.0
_ODD_REPORTS = 3
_ODD_AGREEMENT = 0.15
"""Far from what is known: believed when so many in a row are off by the same factor, nearly."""
_SAME_SHARE, _SAME_TOKENS = 0.02, 8.0
"""Requests that differ by more than this do not come to the same number; once is a chance."""

Matrix = tuple[tuple[float, ...], ...]


def _doubt_at_first() -> Matrix:
    def shared(one: Class, other: Class) -> float:
        if one == other and one not in _FOREIGN:
            return _DOUBTS[one] ** 2
        if one not in _FOREIGN or other not in _FOREIGN:
            return 0.0
        own = _OWN_DOUBT**2 if one == other else 0.0
        return own + _SHARED_DOUBT**2

    return tuple(tuple(shared(one, other) for other in CLASSES) for one in CLASSES)


_DOUBT_AT_FIRST = _doubt_at_first()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What is known of one model. The default: nothing.

    Attributes:
        factors: to each of `CLASSES`.
        doubt: how unsure they are: the covariance of each with each.
        reports: how many have taught something.
        odd: of the last reports that were far off, by what factor each.
        last_expected, last_reported: tokens of the last report that could be a count.
        repeats: how often in a row another request was said to have that same number.
    """

    factors: tuple[float, ...] = (1.0,) * len(CLASSES)
    doubt: Matrix = _DOUBT_AT_FIRST
    reports: int = 0
    odd: tuple[float, ...] = ()
    last_expected: float = 0.0
    last_reported: int = 0
    repeats: int = 0


UNKNOWN = Rates()


def estimate(size: Size, rates: Rates = UNKNOWN) -> int:
    """About how many tokens the model will count."""
    return math.ceil(_expect(size, rates))


def learn(rates: Rates, size: Size, reported: int) -> Rates:
    """What is known after a request of this size was said to have so many input tokens."""
    first = sum(size.tokens_by_class)
    if not _is_count(reported, first):
        return rates
    is_same = reported == rates.last_reported and _differ(first, rates.last_expected)
    known = replace(
        rates,
        last_expected=first,
        last_reported=reported,
        repeats=rates.repeats + 1 if is_same else 0,
    )
    if is_same:
        # One number whatever is asked: what it has taught before was no more true.
        return known if known.repeats < 2 else _forget(known)
    expected = _expect(size, rates)
    spread = _find_spread(size, _carry(rates.doubt, size), reported)
    if abs(reported - expected) <= _ODD_DEVIATIONS * math.sqrt(spread):
        return _move(replace(known, odd=()), size, reported)
    odd = (*rates.odd, reported / max(expected, 1.0))[-_ODD_REPORTS:]
    if len(odd) < _ODD_REPORTS or max(odd) > min(odd) * (1 + _ODD_AGREEMENT):
        return replace(known, odd=odd)
    # Another model behind the same name, most likely: doubted anew, from the factors there are.
    return _move(replace(known, doubt=_DOUBT_AT_FIRST, odd=()), size, reported)


def _expect(size: Size, rates: Rates) -> float:
    return sum(map(float.__mul__, size.tokens_by_class, rates.factors))


def _carry(doubt: Matrix, size: Size) -> list[float]:
    """The covariance of each factor with what is expected of this request."""
    found = [(place, tokens) for place, tokens in enumerate(size.tokens_by_class) if tokens]
    return [sum([row[place] * tokens for place, tokens in found]) for row in doubt]


def _find_spread(size: Size, carried: Sequence[float], reported: float) -> float:
    """The variance of a report about what is expected."""
    doubt = sum(map(float.__mul__, size.tokens_by_class, carried))
    scatter = _SCATTER * min(reported, 2 * sum(size.tokens_by_class)) + _SLACK_TOKENS
    return max(doubt, 0.0) + scatter * scatter


def _move(rates: Rates, size: Size, reported: int) -> Rates:
    """Every factor as far as the report says, and as much surer of it."""
    carried = _carry(rates.doubt, size)
    spread = _find_spread(size, carried, reported)
    expected = _expect(size, rates)
    off = reported - expected
    near = min(max(off, expected / _MOST_STEP - expected), expected * _MOST_STEP - expected)
    # What was held back has not been learned, and leaves as much doubt.
    share = near / off if off else 1.0
    factors = (
        _bound(each, factor + carry / spread * near)
        for each, factor, carry in zip(CLASSES, rates.factors, carried, strict=True)
    )
    scaled = [carry * share / spread for carry in carried]
    doubt = []
    for place, (row, carry) in enumerate(zip(rates.doubt, carried, strict=True)):
        new = [value - carry * each for value, each in zip(row, scaled, strict=True)]
        if size.tokens_by_class[place]:
            new[place] = max(new[place], min(_SURENESS**2, row[place]))
        doubt.append(tuple(new))
    return replace(rates, factors=tuple(factors), doubt=tuple(doubt), reports=rates.reports + 1)


def _forget(rates: Rates) -> Rates:
    return replace(rates, factors=UNKNOWN.factors, doubt=_DOUBT_AT_FIRST, reports=0, odd=())


def _is_count(reported: int, first: float) -> bool:
    """Whether a report can be a count of this request at all."""
    least = _LEAST_RATIO * first - _LEAST_SLACK_TOKENS
    most = _MOST_RATIO * first + _MOST_SLACK_TOKENS
    return reported > 0 and least <= reported <= most


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > max(_SAME_TOKENS, _SAME_SHARE * max(one, other))


def _bound(each: Class, factor: float) -> float:
    least, most = _BOUNDS.get(each, _OTHER_BOUNDS)
    return min(max(factor, least), most)


# ---- at rest -------------------------------------------------------------------


def encode_rates(rates: Rates) -> dict[str, Any]:
    """As JSON-like data; classes by name, for a later version may have others."""
    return {
        "classes": list(CLASSES),
        "factors": [round(each, 5) for each in rates.factors],
        "doubt": [
            [round(each, 7) for each in row[: place + 1]] for place, row in enumerate(rates.doubt)
        ],
        "reports": rates.reports,
        "odd": [round(each, 4) for each in rates.odd],
        "last_expected": round(rates.last_expected, 2),
        "last_reported": rates.last_reported,
        "repeats": rates.repeats,
    }


def decode_rates(data: Any) -> Rates:
    """Rates as they were kept; if they cannot be read whole, nothing is known."""
    try:
        if tuple(data["classes"]) != CLASSES:
            return UNKNOWN
        factors = tuple(map(_bound, CLASSES, map(_read_number, data["factors"])))
        below = [tuple(map(_read_number, row)) for row in data["doubt"]]
        size = len(CLASSES)
        if len(factors) != size or [len(row) for row in below] != [*range(1, size + 1)]:
            return UNKNOWN
        if any(
            not 0 < row[place] <= _DOUBT_AT_FIRST[place][place] * 1.01
            for place, row in enumerate(below)
        ):
            return UNKNOWN
        doubt = tuple(
            tuple(below[max(one, other)][min(one, other)] for other in range(size))
            for one in range(size)
        )
        return Rates(
            factors=factors,
            doubt=doubt,
            reports=int(_read_number(data["reports"])),
            odd=tuple(map(_read_number, data["odd"]))[-_ODD_REPORTS:],
            last_expected=_read_number(data["last_expected"]),
            last_reported=int(_read_number(data["last_reported"])),
            repeats=int(_read_number(data["repeats"])),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return UNKNOWN


def _read_number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return number
