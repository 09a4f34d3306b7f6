"""A picture of any Task's events: what it tells, that it stays bounded, and that nobody can write into it."""

import itertools
import re
import time
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from tenure.cli.command.draw import Format, drawn, form_of
from tenure.cli.drawing.draft import Told
from tenure.cli.drawing.folding import UNFOLDED, cycle_groups, folded
from tenure.cli.drawing.layout import layout_of
from tenure.cli.drawing.measure import fitted, text_width, wrapped
from tenure.cli.drawing.mermaid import MOST_CHARACTERS
from tenure.cli.drawing.palette import DARK, LIGHT, style
from tenure.cli.drawing.story import Line, Look, Role, Sign, Step, Story, Tone
from tenure.cli.drawing.svg import svg_of
from tenure.cli.drawing.telling import story_of
from tests.cli import drawing_stories as tales
from tests.cli.drawing_stories import PICTURE, TASK, Tale

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script>&amp;\x00\x1b]0;x\x07\u202e "><!-- ]]> ; end\n  Note over p0: #lt; %%{init}%% 漢字🙂'


def story(told: list[Told], *, details: bool = False) -> Story:
    return story_of(TASK, told, details=details)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def steps_of(told: Story, kind: str) -> list[Step]:
    return [step for step in told.steps if step.kind == kind]


def test_the_exercise_has_a_lane_for_everybody_who_takes_part() -> None:
    assert [(lane.role, lane.name) for lane in story(tales.exercise()).lanes] == [
        (Role.PERSON, "person"),
        (Role.HUB, "hub"),
        (Role.NODE, "willow"),
        (Role.NODE, "oak"),
        (Role.PROVIDER, "github"),
    ]


def test_the_exercise_shows_each_lease_under_its_fence_and_how_it_ended() -> None:
    told = story(tales.exercise())
    bars = [(span.lane, span.look, span.label) for span in told.spans if span.look is Look.OFFER]
    assert bars == [
        ("node:willow", Look.OFFER, "fence 1"),
        ("node:oak", Look.OFFER, "fence 3"),
        ("node:willow", Look.OFFER, "fence 5"),
    ]
    looks = [span.look for span in told.spans if span.lane == "node:oak"]
    assert looks == [Look.OFFER, Look.LEASE, Look.SUSPECT]
    (suspect,) = (span for span in told.spans if span.look is Look.SUSPECT)
    assert told.steps[suspect.start].kind == "lease_expired"
    assert suspect.end is not None
    assert told.steps[suspect.end].kind == "lease_revoked"
    assert [step.moved for step in told.steps if step.moved is not None] == [1, 2, 3, 4, 5, 6]


def test_late_messages_are_refused_at_the_hub_with_the_fence_that_they_claimed() -> None:
    late = steps_of(story(tales.exercise()), "late_heard")
    assert [(one.source, one.fence) for one in late] == [("node:willow", 1), ("node:oak", 3), ("node:oak", 3)]
    assert {(one.target, one.tone, one.line) for one in late} == {("hub", Tone.LATE, Line.REFUSED)}


def test_a_pull_request_in_doubt_is_found_at_its_provider() -> None:
    told = story(tales.exercise())
    effects = [step for step in told.steps if step.kind.startswith("effect_")]
    assert [(one.source, one.target, one.line) for one in effects] == [
        ("node:oak", "hub", Line.SOLID),
        ("hub", "provider:github", Line.SOLID),
        ("provider:github", "hub", Line.LOST),
        ("hub", "provider:github", Line.ASKED),
        ("provider:github", "hub", Line.ASKED),
        ("node:willow", "hub", Line.SOLID),
    ]
    looks = [span.look for span in told.spans if span.lane == "provider:github"]
    assert looks == [Look.CALL, Look.DOUBT]
    assert "not found, asks again in 20 s" in steps_of(told, "effect_looked_up")[0].text
    assert steps_of(told, "effect_settled")[0].text.startswith(
        "found out: confirmed: pull request fix-login at"
    )


OLD, NEW = "0" * 12, "699f6a9867c3a1c094f64ec90e3c709dc244aeaa"


def effect_texts(*events: tuple[str, dict[str, Any]]) -> list[str]:
    tale = Tale()
    tale.submitted()
    tale.start(tale.grant("oak"))
    for what, fields in events:
        tale.effect(what, **fields)
    return [step.text for step in story(tale.told).steps if step.kind.startswith("effect_")]


def test_a_push_is_named_by_its_branch_and_where_it_is_now() -> None:
    push = {"kind": "push", "target": "origin:shop", "number": 1, "subject": f"tenure/x@{OLD}..{NEW}"}
    result = msgspec.json.encode({"identity": NEW, "facts": {"ref": "tenure/x"}}).decode()
    texts = effect_texts(
        ("begun", push), ("issued", {}), ("settled", {"state": "confirmed", "result": result})
    )
    assert texts[0] == "wants an effect: push tenure/x at 699f6a9867c3 to origin:shop"
    assert texts[2] == "confirmed: push tenure/x at 699f6a9867c3 to origin:shop"


def test_a_result_is_told_by_what_the_provider_calls_it_and_where_it_is() -> None:
    pull = {"kind": "pull_request", "target": "github:a/b", "number": 1, "subject": NEW}
    (_, _, told) = effect_texts(
        ("begun", pull), ("issued", {}), ("settled", {"state": "confirmed", "result": tales.RESULT})
    )
    assert (
        told == "confirmed: pull request 699f6a9867c3 at github:a/b: 41, https://github.com/acme/shop/pull/41"
    )
    (odd,) = effect_texts(("settled", {"state": "confirmed", "result": '{"of tomorrow"'}))
    assert odd == 'confirmed: an effect: {"of tomorrow"'


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "OutcomeUnknownError: forge:443 gave no answer (RemoteProtocolError: closed)",
            "forge:443 gave no answer (remote protocol: closed)",
        ),
        ("UnavailableError: not reached", "unavailable: not reached"),
        ("ReadTimeout: 30 s", "read timeout: 30 s"),
        ("provider_refused: 422", "provider refused: 422"),
        ("head_sha: is missing", "head_sha: is missing"),
        (
            f"may this be: push tenure/x@{OLD}..{NEW} at o:s",
            "may this be: push tenure/x at 699f6a9867c3 at o:s",
        ),
    ],
)
def test_a_reason_is_told_in_words(reason: str, words: str) -> None:
    (text,) = effect_texts(("doubted", {"reason": reason}))
    assert text == f"in doubt, the answer was lost: an effect: {words}"


def test_the_words_of_a_person_stay_as_they_are() -> None:
    (text,) = effect_texts(("approved", {"by": "ada", "because": "KeyError: I know it"}))
    assert text == "allowed by ada: an effect: KeyError: I know it"


def test_a_question_about_an_effect_is_told_in_words_too() -> None:
    tale = Tale()
    tale.submitted()
    summary = f"may this be done: push tenure/x@{OLD}..{NEW} at origin:shop?"
    tale.add(
        {
            "event": "attention_opened",
            "kind": "approval",
            "subject": "s",
            "summary": summary,
            "facts": '{"effect_id":"e"}',
        }
    )
    (asked,) = steps_of(story(tale.told), "attention_opened")
    assert asked.text == "needs you: may this be done: push tenure/x at 699f6a9867c3 at origin:shop?"


def test_a_person_is_asked_and_the_question_lasts_until_the_answer() -> None:
    told = story(tales.exercise())
    (question,) = (span for span in told.spans if span.look is Look.QUESTION)
    assert question.end is not None
    assert told.steps[question.start].sign is Sign.ATTENTION
    assert told.steps[question.end].sign is Sign.ANSWER


def test_heartbeats_that_follow_each_other_are_counted_and_shown_by_themselves_on_request() -> None:
    plain = folded(story(tales.exercise()))
    assert [step.times for step in steps_of(plain, "lease_renewed")] == [4, 4, 1]
    assert len(steps_of(plain, "lease_renewed")[0].beats) == 4
    each = folded(story(tales.exercise(), details=True), runs=False)
    assert [step.times for step in steps_of(each, "lease_renewed")] == [1] * 9
    assert len(each.steps) == each.events == 37


def test_what_is_not_drawn_is_named_below_the_picture() -> None:
    svg = svg_of(story(tales.exercise()))
    assert "Not drawn (--all draws them): 1 attention closed, 1 slot freed." in svg


@pytest.mark.parametrize(
    "told",
    [tales.exercise(), tales.of_fifty_events(), tales.canceled(), tales.of_many_events(5000), []],
    ids=["exercise", "fifty", "canceled", "many", "none"],
)
def test_no_label_lies_over_another(told: list[Told]) -> None:
    svg = svg_of(folded(story(told)))
    boxes = sorted(label_boxes(svg), key=lambda box: box[1])
    for one, other in itertools.combinations(boxes, 2):
        if other[1] >= one[3]:
            continue
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1]
        assert apart, (one, other)


def label_boxes(svg: str) -> list[tuple[float, float, float, float, str]]:
    """Left, top, right, bottom of each text, as wide as it can be."""
    boxes: list[tuple[float, float, float, float, str]] = []
    for text in parsed(svg).iter(f"{SVG}text"):
        x, y, size = (float(text.attrib[name]) for name in ("x", "y", "font-size"))
        wide = text_width(text.text or "", size, bold="font-weight" in text.attrib)
        left = x - wide / 2 if text.attrib.get("text-anchor") == "middle" else x
        boxes.append((left, y - size * 0.75, left + wide, y + size * 0.2, text.text or ""))
    return boxes


def test_nothing_stands_outside_of_the_picture() -> None:
    for told in (tales.exercise(), tales.of_fifty_events()):
        svg = svg_of(story(told))
        width, height = (float(parsed(svg).attrib[name]) for name in ("width", "height"))
        for left, top, right, bottom, words in label_boxes(svg):
            assert left >= 0, words
            assert right <= width, words
            assert top >= 0, words
            assert bottom <= height, words


def test_time_that_is_left_out_is_shown_with_its_length() -> None:
    placed = layout_of(folded(story(tales.exercise())))
    assert [one.length_ms for one in placed.breaks] == [60_000, 240_000]
    assert ">+4 min<" in svg_of(folded(story(tales.exercise())))


def test_rows_stand_in_the_order_of_the_record_and_none_reaches_into_the_next() -> None:
    rows = layout_of(folded(story(tales.of_fifty_events()))).rows
    for above, below in itertools.pairwise(rows):
        assert above.bottom <= below.top


@pytest.mark.parametrize("form", list(Format))
def test_five_thousand_events_are_folded_in_bounded_time_and_size(form: Format) -> None:
    told = tales.of_many_events(5000)
    begun = time.perf_counter()
    picture = drawn(story(told), form)
    assert time.perf_counter() - begun < 10
    assert len(picture) < 400_000
    assert "5000 events" in picture


def test_a_long_story_without_cycles_keeps_its_beginning_and_its_end() -> None:
    tale = Tale()
    tale.submitted()
    # Period 37 and more: longer than any cycle that is looked for.
    for index in range(5000):
        kind = f"event_{(index * index) % 1009}"
        tale.add({"event": kind, "index": index}, 1)
    short = folded(story(tale.told))
    assert len(short.steps) <= UNFOLDED + 2
    assert sum(step.times for step in short.steps) == 5001
    assert short.steps[0].kind == "task_submitted"
    assert short.steps[-1].at_ms == tale.now_ms


def test_every_event_of_a_folded_story_is_counted() -> None:
    short = folded(story(tales.of_many_events(5000)))
    assert sum(step.times for step in short.steps) == 5000
    assert len(short.steps) < 100
    assert short.is_folded


def test_heartbeats_are_folded_before_anything_else_is() -> None:
    tale = Tale()
    tale.submitted()
    tale.attempt(1)
    lease = tale.grant("oak")
    tale.start(lease)
    for _ in range(3000):
        tale.renew(lease)
    short = folded(story(tale.told), runs=False)
    assert [step.times for step in short.steps] == [1, 1, 1, 1, 1, 3000]
    assert not short.is_folded


def test_cycles_are_found_whatever_stands_before_and_after_them() -> None:
    def step(kind: str) -> Step:
        return Step(at_ms=0, until_ms=0, kind=kind, text=kind, source="hub")

    steps = tuple(step(kind) for kind in "xy" + "abc" * 5 + "abz")
    groups = cycle_groups(steps)
    assert (5, 14) in groups
    covered = [at for start, end in groups for at in range(start, end)]
    assert covered == list(range(len(steps)))


def hostile_story() -> list[Told]:
    tale = Tale()
    tale.submitted(HOSTILE * 20, by=HOSTILE)
    tale.attempt(1)
    tale.attempt(2, HOSTILE)
    lease = tale.grant(HOSTILE, 2)
    tale.start(lease)
    tale.renew(lease, HOSTILE)
    tale.effect("begun", 1, kind=HOSTILE, target=HOSTILE, number=2, fence=10**30)
    tale.effect("issued")
    tale.effect("doubted", reason=HOSTILE)
    tale.ask(HOSTILE)
    tale.add({"event": "something_new", "x": HOSTILE})
    return tale.told


def test_text_of_people_and_agents_stays_text_in_svg() -> None:
    svg = svg_of(folded(story(hostile_story())))
    names = {element.tag.removeprefix(SVG) for element in parsed(svg).iter()}
    assert names <= {"svg", "title", "style", "g", "rect", "path", "text"}
    attributes = {name for element in parsed(svg).iter() for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on") or "href" in name or name == "style"]
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", svg)
    assert not [one for one in label_boxes(svg) if one[2] > float(parsed(svg).attrib["width"])]


def test_text_of_people_and_agents_stays_text_in_mermaid() -> None:
    lines = drawn(story(hostile_story()), Format.MERMAID).splitlines()
    assert lines[0] == "sequenceDiagram"
    shapes = r"    (title|%%|actor|participant|Note over|activate|deactivate|p\d+-)"
    assert all(re.match(shapes, line) for line in lines[1:])
    for line in lines[1:]:
        assert not re.search(r"[<>{}\"\x00-\x1f]", line.split(":", 1)[-1].replace("->>", ""))
        assert not re.search(r";(?<!#\d;)(?<!#\d\d;)(?<!#\d{3};)(?<!#\d{4};)(?<!#\d{5};)(?<!#\d{6};)", line)


def test_text_of_people_and_agents_cannot_steer_the_terminal() -> None:
    text = drawn(story(hostile_story()), Format.TEXT, width=100)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


def test_mermaid_activates_before_it_deactivates() -> None:
    for told in (tales.exercise(), tales.of_fifty_events(), tales.of_many_events(5000)):
        text = drawn(story(told), Format.MERMAID)
        assert len(text) <= MOST_CHARACTERS
        active: dict[str, int] = {}
        for word, lane in re.findall(r"^ +(activate|deactivate) (p\d+)$", text, re.MULTILINE):
            active[lane] = active.get(lane, 0) + (1 if word == "activate" else -1)
            assert active[lane] in {0, 1}, lane


def test_a_story_without_an_event_is_a_picture_with_a_hub() -> None:
    for form in Format:
        assert "hub" in drawn(story([]), form)
    parsed(svg_of(story([])))


def test_a_new_task_is_drawn_with_what_there_is() -> None:
    tale = Tale()
    tale.submitted("Something new")
    tale.attempt(1)
    told = story(tale.told)
    assert [lane.role for lane in told.lanes] == [Role.PERSON, Role.HUB]
    assert told.state == "submitted"
    assert "Something new" in svg_of(told)


def test_a_canceled_task_shows_every_step_of_the_cancellation() -> None:
    told = story(tales.canceled())
    ways = [(one.source, one.target) for one in steps_of(told, "cancel_advanced")]
    assert ways == [
        ("person", "hub"),
        ("hub", "node:oak"),
        ("node:oak", "hub"),
        ("hub", None),
        ("hub", None),
    ]
    assert told.state == "canceled"
    assert told.steps[-1].sign is Sign.CANCELED


@pytest.mark.parametrize(("cause", "first"), [("person", ("person", "hub")), ("budget", ("hub", None))])
def test_the_stop_of_one_attempt_goes_the_way_of_a_cancellation(
    cause: str, first: tuple[str, str | None]
) -> None:
    tale = Tale()
    tale.submitted()
    tale.attempt(1)
    tale.start(tale.grant("oak"))
    for step in ("requested", "signaled", "acknowledged", "reconciled", "terminated"):
        tale.add({"event": "stop_advanced", "number": 1, "step": step, "cause": cause}, 1)
    ways = [(one.source, one.target) for one in steps_of(story(tale.told), "stop_advanced")]
    assert ways == [first, ("hub", "node:oak"), ("node:oak", "hub"), ("hub", None), ("hub", None)]


def test_a_decision_is_a_step_of_the_hub_that_says_its_rule() -> None:
    tale = Tale()
    tale.submitted()
    tale.attempt(1)
    decided = {
        "number": 1,
        "verdict": "failed",
        "failure_class": "capacity",
        "rule": "http-busy",
        "policy": "default/1",
    }
    tale.add({"event": "recovery_decided", **decided, "because": "no room", "asks": True})
    tale.add({"event": "budget_reserved", "delivery_id": "d", "accounts": ["hub"], "amounts": {}})
    tale.add({"event": "budget_exhausted", "number": 1, "dimensions": ["attempts"]})
    told = story(tale.told)
    (step,) = steps_of(told, "recovery_decided")
    assert (step.source, step.tone) == ("hub", Tone.DOUBT)
    assert step.text == (
        "attempt 1 judged capacity by the policy default/1, whatever its node said (rule `http-busy`): no room"
    )
    assert steps_of(told, "budget_reserved") == []
    assert told.state == "input_required"


def test_a_lease_that_still_runs_has_no_end() -> None:
    tale = Tale()
    tale.submitted()
    lease = tale.grant("oak")
    tale.start(lease)
    assert [(span.look, span.end) for span in story(tale.told).spans][-1] == (Look.LEASE, None)


def test_a_renewal_after_the_expiry_makes_a_suspect_a_holder_again() -> None:
    looks = [span.look for span in story(tales.of_fifty_events()).spans if span.lane == "node:oak"]
    assert looks[-4:] == [Look.OFFER, Look.LEASE, Look.SUSPECT, Look.LEASE]


def test_events_that_miss_their_fields_cost_only_their_words() -> None:
    told = [Told(1000 * index, kind, {}) for index, kind in enumerate(every_kind())]
    for form in Format:
        assert drawn(story(told), form)


def every_kind() -> list[str]:
    from typing import get_args

    from tenure.core import events as ev

    kinds = [str(kind.__struct_config__.tag) for kind in get_args(ev.Event)]
    effects = ["begun", "approved", "issued", "settled", "doubted", "looked_up", "quarantined", "adopted"]
    return [*kinds, *(f"effect_{one}" for one in effects), "effect_of_tomorrow", "unheard_of"]


def test_the_number_of_lanes_is_bounded_however_many_nodes_there_were() -> None:
    tale = Tale()
    tale.submitted()
    for index in range(60):
        tale.void(tale.grant(f"node-{index}"))
        tale.effect("begun", effect_id=f"e_{index}", target=f"forge{index}:x", kind="push", number=1)
        tale.effect("issued", effect_id=f"e_{index}")
    lanes = story(tale.told).lanes
    assert len(lanes) <= 2 + 8 + 6
    assert {"other nodes", "other providers"} <= {lane.name for lane in lanes}


def test_a_commit_goes_from_its_node_to_the_provider() -> None:
    tale = Tale()
    tale.submitted()
    tale.start(tale.grant("oak"))
    tale.effect("begun", kind="commit", target="origin:shop", number=1)
    tale.effect("issued")
    assert story(tale.told).steps[-1].source == "node:oak"


def test_an_effect_that_was_never_called_ends_at_the_hub_and_a_person_can_settle_one() -> None:
    tale = Tale()
    tale.submitted()
    tale.start(tale.grant("oak"))
    tale.effect("begun", kind="push", target="origin:shop", number=1, approval=True)
    tale.effect("approved", by="ada", because="it is small")
    tale.effect("settled", state="absent", reason="the lease ended")
    tale.effect("settled", state="confirmed", by="ada", reason="I saw it")
    steps = story(tale.told).steps[-4:]
    assert [(one.source, one.target) for one in steps] == [
        ("node:oak", "hub"),
        ("person", "hub"),
        ("hub", None),
        ("person", "hub"),
    ]
    assert "if a person allows it" in steps[0].text
    assert not [lane for lane in story(tale.told).lanes if lane.role is Role.PROVIDER]


def test_a_text_is_cut_and_wrapped_to_the_width_that_it_has() -> None:
    text = "a longer sentence with somewordthatislongerthananyline 漢字漢字 in it"
    for width in (40, 60, 100, 1000):
        assert text_width(fitted(text, width, 13), 13) <= width
        for most in (1, 2, 3):
            lines = wrapped(text, width, 13, most=most)
            assert len(lines) <= most
            assert all(text_width(line, 13) <= width for line in lines)


def test_the_format_follows_the_name_of_the_file_else_where_it_goes() -> None:
    from pathlib import Path

    assert form_of(Path("a.mmd"), to_terminal=True) is Format.MERMAID
    assert form_of(Path("a.TXT"), to_terminal=False) is Format.TEXT
    assert form_of(Path("a"), to_terminal=True) is Format.SVG
    assert form_of(None, to_terminal=True) is Format.TEXT
    assert form_of(None, to_terminal=False) is Format.SVG


def test_the_text_stands_in_columns() -> None:
    lines = drawn(story(tales.exercise()), Format.TEXT, width=140).splitlines()
    (late,) = (line for line in lines if "a receipt came late" in line)
    assert re.search(r"● ├╌+◌ +┃", late)
    head = next(line for line in lines if "fence" in line and "github" in line)
    middle = head.index("hub") + 1
    body = lines[lines.index(head) + 1 : lines.index("", lines.index(head))]
    assert {line[middle] for line in body} <= set("│●✓≈─")
    assert max(len(line) for line in body) <= 140


@pytest.mark.parametrize("width", [60, 90, 120, 200])
def test_a_narrow_terminal_gets_narrow_lanes_in_straight_columns(width: int) -> None:
    lines = drawn(story(hostile_story()), Format.TEXT, width=width).splitlines()
    body = lines[4 : lines.index("", 4)]
    person = next(at for at, char in enumerate(body[0]) if char == "│")
    assert {line[person] for line in body} <= set("│┋●!≈")
    assert max(map(len, body)) <= max(width, 18 + 2 + 6 * 4 + 2 + 24 + 2)


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_of_text_stands_out_from_its_ground(colours: dict[str, str]) -> None:
    for ground in ("ground", "band"):
        for name in ("ink", "muted", "plain", "work", "effect", "doubt", "late", "person", "end"):
            darker, lighter = sorted((luminance(colours[ground]), luminance(colours[name])))
            contrast = (lighter + 0.05) / (darker + 0.05)
            assert contrast >= (4.5 if ground == "ground" else 4.0), (name, ground, contrast)


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_every_colour_has_its_counterpart_in_the_dark(name: str) -> None:
    assert f".f-{name}{{fill:{DARK[name]}}}" in style().partition("@media")[2]


def test_a_picture_is_the_same_each_time() -> None:
    for form in Format:
        assert drawn(story(tales.exercise()), form) == drawn(story(tales.exercise()), form)


def test_the_picture_of_the_guide_is_the_one_that_the_exercise_makes() -> None:
    made = svg_of(folded(story(tales.exercise())))
    assert PICTURE.read_text() == made, "run `python -m tests.cli.drawing_stories`"


def test_the_stories_are_told_with_events_that_the_core_knows() -> None:
    from tenure.core.events import Event

    for event in (*tales.exercise(), *tales.of_fifty_events(), *tales.canceled()):
        if not event.kind.startswith("effect_"):
            msgspec.convert({"event": event.kind, **event.body}, Event)
