"""Estimates come near within three turns, whatever the vocabulary, and nonsense moves nothing."""

import json
import math
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.calibration import (
    UNKNOWN,
    Rates,
    decode_rates,
    encode_rates,
    estimate,
    learn,
)
from askd.core.items import Blob, Text, UserMessage
from askd.core.scripts import CLASSES, Class
from askd.core.tokens import NOTHING, Size, measure, measure_request
from tests.core.vocabularies import (
    SCRIPTS,
    VOCABULARIES,
    converse,
    find_errors,
    find_errors_after,
    read_counts,
    read_texts,
)


def say(text: str) -> Size:
    """A request that says this."""
    return measure_request([UserMessage("u", (Text(text),))])


ENGLISH = say("A sentence of quite ordinary words, said again. " * 40)
RUSSIAN = say("Обычное предложение из обычных слов. " * 40)


def teach(rates: Rates, size: Size, *reports: float) -> Rates:
    """What is known after reports of this many times the first estimate; sizes differ a little."""
    for number, report in enumerate(reports):
        grown = Size(tuple(each * (1 + 0.1 * number) for each in size.tokens_by_class))
        rates = learn(rates, grown, round(report * sum(grown.tokens_by_class)))
    return rates


def name_factors(rates: Rates) -> dict[Class, float]:
    """The factors by the names of their classes."""
    return dict(zip(CLASSES, rates.factors, strict=True))


# ---- it converges --------------------------------------------------------------------


def test_ten_texts_of_each_script_and_a_count_for_each() -> None:
    for script in SCRIPTS:
        texts = read_texts(script)
        assert len(set(texts)) == 10
        assert all(200 <= len(text) <= 3000 for text in texts)
        for vocabulary in VOCABULARIES:
            assert len(read_counts(script, vocabulary)) == 10


@pytest.mark.parametrize("script", [each for each in SCRIPTS if each != "mixed"])
def test_three_turns_of_a_script_teach_it(script: str) -> None:
    """The target, against a small model's vocabulary, for every choice of three neighbours."""
    errors = find_errors_after(script, "smollm2")
    assert median(errors) <= 0.10
    assert max(errors) <= 0.25


def test_before_anything_is_known_english_and_code_are_near_for_large_vocabularies() -> None:
    for vocabulary in ("cl100k", "o200k"):
        for script in ("english", "code"):
            errors = find_errors(UNKNOWN, script, vocabulary, list(range(10)))
            assert median(errors) <= 0.05
            assert max(errors) <= 0.20


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_any_vocabulary_is_learned_better_than_it_was_known(vocabulary: str) -> None:
    before = [
        error
        for script in SCRIPTS
        for error in find_errors(UNKNOWN, script, vocabulary, list(range(10)))
    ]
    after = [error for script in SCRIPTS for error in find_errors_after(script, vocabulary)]
    assert median(after) <= 0.07 < median(before)
    assert max(after) <= 0.4


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_one_script_after_the_other_and_none_is_forgotten(vocabulary: str) -> None:
    rates = UNKNOWN
    for script in SCRIPTS:
        rates = converse(rates, script, vocabulary, [0, 1, 2])
    errors = [
        error
        for script in SCRIPTS
        for error in find_errors(rates, script, vocabulary, list(range(3, 10)))
    ]
    assert median(errors) <= 0.06
    assert max(errors) <= 0.30


def test_one_foreign_script_hints_at_the_others_and_says_nothing_of_english() -> None:
    factors = name_factors(teach(UNKNOWN, RUSSIAN, 2.0, 2.0, 2.0))
    assert factors["cyrillic"] > factors["semitic"] > 1.4
    assert factors["words"] == pytest.approx(1.0, abs=0.05)


def test_what_an_image_costs_is_learned() -> None:
    item = UserMessage("u", (Blob("", 9, "image/png"),))
    size = measure_request([item, UserMessage("v", (Text("What is this?"),))])
    rates = teach(UNKNOWN, size, 0.5, 0.5, 0.5, 0.5)
    assert estimate(measure(item), rates) == pytest.approx(800, rel=0.1)


def test_a_prompt_that_a_template_hides_is_learned_as_what_it_is() -> None:
    rates = UNKNOWN
    for text in ("Hi.", "Say something about the sea.", "And more.", "Thank you very much."):
        size = say(text)
        rates = learn(rates, size, size.tokens + 60)
    assert name_factors(rates)["base"] > 6
    assert name_factors(rates)["words"] == pytest.approx(1.0, abs=0.1)


# ---- it does not jump ----------------------------------------------------------------


@pytest.mark.parametrize("reported", [0, -5, 1, 10**9])
def test_what_can_be_no_count_teaches_nothing(reported: int) -> None:
    assert learn(UNKNOWN, ENGLISH, reported) == UNKNOWN


def test_no_report_moves_an_estimate_by_more_than_its_share() -> None:
    for report in (0.35, 5.0):
        rates = teach(UNKNOWN, RUSSIAN, report)
        ratio = estimate(RUSSIAN, rates) / estimate(RUSSIAN)
        assert 1 / 1.61 <= ratio <= 1.61


def test_one_number_for_every_request_is_found_out() -> None:
    rates, estimates = UNKNOWN, []
    for turns in range(1, 40):
        size = Size(tuple(each * turns for each in ENGLISH.tokens_by_class))
        rates = learn(rates, size, 5000)
        estimates.append(estimate(size, rates) / size.tokens)
    assert min(estimates) >= 0.6
    assert max(estimates) <= 1.61
    # It has taught at most once, and that was taken back.
    assert rates.factors == UNKNOWN.factors
    assert 0.99 <= estimates[-1] <= 1.01
    # A provider that is mended is believed again.
    rates = teach(rates, RUSSIAN, 2.0, 2.0, 2.0)
    assert estimate(RUSSIAN, rates) == pytest.approx(2 * RUSSIAN.tokens, rel=0.1)


def test_counts_of_what_was_not_cached_do_not_shrink_what_is_known() -> None:
    rates = teach(UNKNOWN, ENGLISH, 1.1, 1.1, 1.1)
    before = estimate(ENGLISH, rates)
    for turns in range(2, 30):
        size = Size(tuple(each * turns for each in ENGLISH.tokens_by_class))
        rates = learn(rates, size, round(1.1 * ENGLISH.tokens) + turns)
    assert estimate(ENGLISH, rates) == before


def test_what_is_far_from_well_known_is_believed_when_it_goes_on() -> None:
    known = teach(UNKNOWN, RUSSIAN, *[1.0] * 6)
    once = teach(known, RUSSIAN, 2.0)
    assert once.factors == known.factors
    assert once.odd
    assert teach(once, RUSSIAN, 1.0).odd == ()
    wild = teach(known, RUSSIAN, 2.0, 3.0, 1.6, 2.4, 3.5)
    assert wild.factors == known.factors
    changed = teach(known, RUSSIAN, *[2.0] * 6)
    assert estimate(RUSSIAN, changed) == pytest.approx(2 * RUSSIAN.tokens, rel=0.1)


SIZES = st.lists(
    st.one_of(st.just(0.0), st.floats(0, 1e6)), min_size=len(CLASSES), max_size=len(CLASSES)
).map(lambda found: Size(tuple(found)))


@given(st.lists(st.tuples(SIZES, st.integers(-10, 10**7)), max_size=12))
def test_whatever_is_reported_factors_stay_in_bounds(reports: list[tuple[Size, int]]) -> None:
    rates = UNKNOWN
    for size, reported in reports:
        before = estimate(size, rates)
        rates = learn(rates, size, reported)
        assert all(math.isfinite(factor) and 0 <= factor <= 60 for factor in rates.factors)
        assert all(rates.doubt[place][place] > 0 for place in range(len(CLASSES)))
        if rates.repeats == 0 and before > 50:
            assert before / 1.7 - 8 <= estimate(size, rates) <= before * 1.7 + 8
    assert decode_rates(json.loads(json.dumps(encode_rates(rates)))).reports == rates.reports


# ---- at rest -------------------------------------------------------------------------


def test_rates_that_were_kept_estimate_and_learn_as_before() -> None:
    rates = teach(UNKNOWN, RUSSIAN, 2.0, 2.1)
    kept = decode_rates(json.loads(json.dumps(encode_rates(rates))))
    assert estimate(RUSSIAN, kept) == estimate(RUSSIAN, rates)
    both = teach(kept, ENGLISH, 1.2), teach(rates, ENGLISH, 1.2)
    assert both[0].factors == pytest.approx(both[1].factors, rel=1e-3)
    assert estimate(NOTHING, kept) == 0


def test_what_cannot_be_read_is_not_known() -> None:
    good = encode_rates(teach(UNKNOWN, RUSSIAN, 2.0))
    assert decode_rates(good) != UNKNOWN
    damaged: list[Any] = [
        None,
        [],
        {},
        {**good, "classes": ["runes"]},
        {**good, "factors": good["factors"][1:]},
        {**good, "factors": ["x"] * len(CLASSES)},
        {**good, "doubt": good["doubt"][1:]},
        {**good, "doubt": [[math.nan] * (place + 1) for place in range(len(CLASSES))]},
        {**good, "doubt": [[-1.0] * (place + 1) for place in range(len(CLASSES))]},
        {**good, "odd": 3},
        {**good, "reports": "many"},
    ]
    for broken in damaged:
        assert decode_rates(broken) == UNKNOWN
    wild = {**good, "factors": [10.0**9] * len(CLASSES)}
    assert max(decode_rates(wild).factors) <= 60
