"""A model as JSON, all of it; and the notes, as JSON, that other formats keep beside their arrays."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.foreign_files import each_once
from qckm.errors import FileError
from qckm.models.model import Model

FORMAT = "qckm-model/1"
# Of mixtures: a reader of the first version would take their means for centroids, and label rows by distance.
MIXTURE_FORMAT = "qckm-model/2"
_DEEPEST = 20
ARRAYS = ("centers", "weights", "spreads", "units")


def to_json(model: Model) -> bytes:
    """Return the model as JSON, all of it."""
    content = {
        "format": format_of(model),
        "n_clusters": len(model.centers),
        "feature_names": model.feature_names,
        **{name: getattr(model, name).tolist() for name in ("units", "centers", "weights", "spreads")},
        **({} if model.covariances is None else {"covariances": model.covariances.tolist()}),
        "facts": model.facts,
    }
    return dump(content, indent=1) + b"\n"


def from_json(data: bytes) -> Model:
    """Undo `to_json`."""
    content = parse(data)
    if not isinstance(content, dict) or content.get("format") not in (FORMAT, MIXTURE_FORMAT):
        raise FileError(f"expected the format {FORMAT!r} or {MIXTURE_FORMAT!r}")
    centers, weights, spreads, units = (numbers_of(name, content.get(name)) for name in ARRAYS)
    said = content.get("n_clusters")
    if type(said) is not int or said != len(centers):
        raise FileError(f"expected n_clusters to be {len(centers)}, as there are centers, got {said!r:.80}")
    covariances = None
    if content["format"] == MIXTURE_FORMAT:
        covariances = numbers_of("covariances", content.get("covariances"))
    return Model(centers, weights, spreads, units, *notes_of(content), covariances)


def format_of(model: Model) -> str:
    """Return the name of the format that a model is written in."""
    return FORMAT if model.covariances is None else MIXTURE_FORMAT


def dump(content: object, indent: int | None = None) -> bytes:
    """Return JSON in ASCII. It has no NaN and no infinity: a fact that is one of these is null, as not known."""
    try:
        return json.dumps(_finite(content), indent=indent, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"Expected facts that JSON can hold: {error}.") from error


def parse(data: bytes) -> Any:
    """Undo `dump`; older files may have NaN where now null is."""
    return json.loads(data, parse_constant=lambda _: None, object_pairs_hook=each_once)


def numbers_of(name: str, values: object) -> Floats:
    """Return what should be an array of numbers: no text that looks like one, no null."""
    array = np.array(values) if isinstance(values, list) else np.array(None)
    if array.dtype.kind not in "iuf":
        raise FileError(f"expected {name} to be numbers, got {values!r:.80}")
    return array.astype(np.float64)


def notes_of(content: object) -> tuple[tuple[str, ...] | None, dict[str, Any]]:
    """Return the names of the columns, if they have any, and the facts."""
    names, facts = (content.get(key) if isinstance(content, dict) else ... for key in ("feature_names", "facts"))
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise FileError(f"expected feature_names to be null or a list of texts, got {names!r:.80}")
    if not isinstance(facts, dict):
        raise FileError(f"expected facts to be an object, got {facts!r:.80}")
    if _is_deep(facts):
        raise FileError(f"expected facts of at most {_DEEPEST} levels")
    return None if names is None else tuple(names), facts


def _is_deep(content: object) -> bool:
    """Whether there are more levels than anybody who walks through them expects."""
    level = [content]
    for _ in range(_DEEPEST):
        inner = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
        level = [part for parts in inner for part in parts]
    return any(isinstance(one, (dict, list)) for one in level)


def _finite(content: object) -> object:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


# Centroids hardly compress; zeros and repeated numbers do, in models small enough not to matter.
_FREE = 1 << 26
_TIMES = 16


def require_sane(needed: int, available: int) -> None:
    """Refuse a file that says of itself that it grows to many times its size: that is no model, but an attack."""
    most = _FREE + _TIMES * available
    if needed > most:
        raise FileError(f"expected at most {most:,} bytes of a file of {available:,}, got {needed:,}: no sane model")
