"""`.qckm` files: sections are changed, and lengths, fingerprint and checksum redone, to reach all checks."""

import hashlib
import random
from pathlib import Path

import numpy as np

import qckm
from fuzz.mutations import mutate_bytes, mutate_in_place
from qckm.errors import QckmError
from qckm.sketch import Sketch, files, operator_sections, packed, sections

GOLDEN = Path(__file__).parents[1] / "golden"
START = files.START.pack(files.MAGIC, files.VERSION)
NUMBERS = (0, 1, 2, 127, 128, 2**15, 2**31, 2**48, 2**62, 2**63 - 1, 2**63, 2**70)


def _examples() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    found = {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("v3-*.qckm"))}
    draw = qckm.SketchOperator.draw
    operators = {
        "octaves": draw(3, 12, 1.0, octaves=3, random_state=0),
        "named": draw(2, 5, 1.0, random_state=1, feature_names=["a", "b"], dither="single"),
        "seeded": qckm.SketchOperator.from_seed(3, 9, scale=10.0, seed=7),
        "recipe": qckm.SketchOperator.draw(3, 9, 10.0, "integer-balanced", random_state=7),
        "structured": draw(40, 20, 5.0, frequencies="structured", random_state=2),
        "far away": draw(1, 1, 1e-9, signature="triangle", origin=[1e12], random_state=3),
        "blocks": draw(2, 600, 1.0, random_state=4),
    }
    for name, op in operators.items():
        found[name] = files.dumps(op.sketch(op.origin + rng.normal(size=(7, op.n_features))))
    op = operators["named"]
    found["real weights"] = files.dumps(op.sketch(rng.normal(size=(7, 2)), rng.random(7)))
    return found


EXAMPLES = _examples()


@np.errstate(all="ignore")
def make(rng: random.Random) -> bytes:
    """Return a file in which something is other than it was."""
    data = rng.choice(list(EXAMPLES.values()))
    if rng.random() < 0.1:
        return mutate_bytes(data, rng)
    parts = [(tag, bytes(content)) for tag, content in sections.split(data).items()]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place = rng.randrange(len(parts))
        tag, content = parts[place]
        kind = rng.random()
        if kind < 0.35:
            parts[place] = tag, mutate_in_place(content, rng)
        elif kind < 0.6:
            parts[place] = tag, mutate_bytes(content, rng)
        elif kind < 0.75:  # another number at the start, where counts are
            start = rng.choice((0, 1, 2, 3, 8, 9, 10))
            parts[place] = tag, content[:start] + packed.varint(rng.choice(NUMBERS)) + content[start + 1 :]
        elif kind < 0.85 and len(parts) > 1:
            del parts[place]
        else:  # a section of another file, or of none
            foreign = list(sections.split(rng.choice(list(EXAMPLES.values()))).items())
            new, content = rng.choice([*foreign, (rng.choice((b"Z", b"z", b"1", tag)), content)])
            parts = [*(part for part in parts if part[0] != new or rng.random() < 0.1), (new, bytes(content))]
            if rng.random() < 0.9:
                parts.sort()
    return joined(parts, rng)


def check(data: bytes, folder: Path) -> None:
    """Load; what loads is written as it was read, and sound."""
    sketch = files.loads(data)
    again = files.dumps(sketch)
    assert sections.split(data) == sections.split(again)
    require_sound(sketch)


def require_sound(sketch: Sketch) -> None:
    """Fail if a sketch is not the same when written and read, has sums that no rows have, or an operator of no use."""
    again = files.dumps(sketch)
    assert files.dumps(files.loads(again)) == again
    if sketch.count and not sketch.private:  # noise may carry a sum beyond its rows
        assert (np.abs(sketch.values()) <= 1 + 1e-9).all()
    op = sketch.operator
    if op.n_features * op.n_frequencies < 1 << 16:
        few = op.sketch(np.stack([op.origin, *op.reach])) + op.empty()
        assert few.count == 3
        assert (np.abs(few.total) <= 3 * op.signature.full_scale).all()


def joined(parts: list[tuple[bytes, bytes]], rng: random.Random) -> bytes:
    """Return a file of sections; fingerprint, lengths and checksum are mostly right."""
    if rng.random() < 0.9:
        parts = [
            (tag, _with_fingerprint(dict(parts)) if tag == operator_sections.OPERATOR else content)
            for tag, content in parts
        ]
    lengths = [len(content) if rng.random() < 0.98 else rng.choice(NUMBERS) for _, content in parts]
    body = START + b"".join(
        tag + packed.varint(length) + content for (tag, content), length in zip(parts, lengths, strict=True)
    )
    return body + (hashlib.sha256(body).digest()[:16] if rng.random() < 0.95 else bytes(16))


def _with_fingerprint(parts: dict[bytes, bytes]) -> bytes:
    """Return the section of an operator with its right fingerprint, where there is an operator."""
    content = parts[operator_sections.OPERATOR]
    try:
        facts = operator_sections._read_facts(packed.Cursor(content[8:]))
        codes = (
            operator_sections._read_recipe(packed.Cursor(parts[operator_sections.RECIPE]), *facts.shape)
            if operator_sections.RECIPE in parts
            else operator_sections._read_inline(
                packed.Cursor(parts[operator_sections.INLINE]), *facts.shape, facts.law, None
            )
        )
        return qckm.SketchOperator(codes, *facts[1:]).short_fingerprint + content[8:]
    except (QckmError, KeyError, ValueError):
        return content
