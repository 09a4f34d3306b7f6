"""The colours of the picture, for light and for dark surroundings.

Blue, teal, vermilion, ochre and violet stay apart for the usual kinds of colour blindness and differ in lightness; beside that no colour
says anything that a shape, a dash or the sentence does not say too. Each has at least 4.5:1 against the ground where it
colours text, 3:1 where it colours shapes.
"""

from __future__ import annotations

LIGHT = {
    "ground": "#fcfbf8",
    "ink": "#22262b",
    "muted": "#626871",
    "hair": "#e3e0d9",
    "rail": "#c9c6be",
    "band": "#f1eee7",
    "plain": "#5b626b",
    "work": "#2a68b0",
    "lease": "#c5d9ef",
    "effect": "#0f766e",
    "call": "#bfe3dd",
    "doubt": "#9a6700",
    "doubted": "#f6e3b0",
    "late": "#c2401c",
    "person": "#6a4bc0",
    "question": "#ddd3f5",
    "end": "#22262b",
    "bare": "#fcfbf8",
}
DARK = {
    "ground": "#15181c",
    "ink": "#e4e6e9",
    "muted": "#98a1ac",
    "hair": "#2a2f36",
    "rail": "#434a54",
    "band": "#1e2329",
    "plain": "#a3abb5",
    "work": "#74b0f0",
    "lease": "#274a70",
    "effect": "#4cc4b3",
    "call": "#1d504a",
    "doubt": "#e2b548",
    "doubted": "#55441a",
    "late": "#ff8e63",
    "person": "#b8a2f7",
    "question": "#40346b",
    "end": "#e4e6e9",
    "bare": "#15181c",
}

FONT = "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


def style() -> str:
    """The style sheet: `f-NAME` fills with a colour, `s-NAME` draws with it. Its rules reach no further than the picture."""
    return (
        f".tenure-story text{{font-family:{FONT};font-variant-numeric:tabular-nums}}"
        ".tenure-story .s{fill:none;stroke-linecap:round;stroke-linejoin:round}"
        ".tenure-story .touch{fill:none;pointer-events:all}"
        + _rules(LIGHT)
        + f"@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"
    )


def _rules(colours: dict[str, str]) -> str:
    return "".join(
        f".tenure-story .f-{name}{{fill:{value}}}.tenure-story .s-{name}{{stroke:{value}}}"
        for name, value in colours.items()
    )
