"""A Task's story as a picture.

`story` is what the picture says, whatever it looks like; `telling` makes it of a Task's events, `folding` shortens it. From there
two ways lead on: `layout` gives everything its place and `svg` draws it; `mermaid` and `text` write the same story down
as it is. Nothing here asks a hub or reads a clock: the same events make the same picture.
"""
