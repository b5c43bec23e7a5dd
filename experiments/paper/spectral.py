"""From raw MNIST to the ten spectral features that figure 3 clusters.

    python -m paper.spectral mnist_spectral.npz                 # MNIST from OpenML, by scikit-learn
    python -m paper.spectral mnist_spectral.npz --idx FOLDER    # from the four IDX files, gzipped or not

The paper had its features from the authors of CKM, with no recipe but "spectral clustering". This is ours: a
128-number descriptor of gradient directions (upright, as SIFT's), the exact graph of the ten nearest neighbours, the
normalised Laplacian, and its ten eigenvectors after the trivial one, times sqrt(N). Half an hour on two cores for
70 000 images, nearly all of it neighbours.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
from scipy import ndimage, sparse
from scipy.sparse.linalg import eigsh

N_FEATURES, N_NEIGHBOURS = 10, 10
_CELLS, _DIRECTIONS = 4, 8  # 4 × 4 cells of 8 directions: 128 numbers
_IDX = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def load_openml() -> tuple[np.ndarray, np.ndarray]:
    """Return the images (70000, 28, 28) in [0, 1] and the digits, downloaded once by scikit-learn."""
    from sklearn.datasets import fetch_openml

    images, digits = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    return images.reshape(-1, 28, 28) / 255.0, digits.astype(np.int64)


def load_idx(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return images and digits of the four IDX files in a folder, the training set first."""
    parts = [read_idx(next(iter(sorted(folder.glob(f"{name}*"))))) for name in _IDX]
    return np.concatenate([parts[0], parts[2]]) / 255.0, np.concatenate([parts[1], parts[3]]).astype(np.int64)


def read_idx(path: Path) -> np.ndarray:
    """Return the array in an IDX file of bytes: two zeros, the type 8, the number of axes, their lengths, the data."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"Expected an IDX file of bytes, got one that begins with {raw[:4]!r}: {path}")
    shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def describe(images: np.ndarray) -> np.ndarray:
    """Return 128 numbers for each image (N, 28, 28): how steep it is in 8 directions, in 4 × 4 soft cells."""
    images = ndimage.gaussian_filter(images, (0, 0.8, 0.8))
    down, right = np.gradient(images, axis=(1, 2))
    length = np.hypot(down, right)
    turn = np.mod(np.arctan2(down, right) / (2 * np.pi) * _DIRECTIONS, _DIRECTIONS)
    weights = _cell_weights(images.shape[1])
    out = np.empty((len(images), _CELLS, _CELLS, _DIRECTIONS))
    for direction in range(_DIRECTIONS):
        # Each gradient counts for the two directions it lies between, and each pixel for the cells it lies between.
        gap = np.abs(turn - direction)
        share = length * np.maximum(0, 1 - np.minimum(gap, _DIRECTIONS - gap))
        out[..., direction] = np.einsum("ci,nij,dj->ncd", weights, share, weights, optimize=True)
    flat = out.reshape(len(images), -1)
    # As SIFT has it: no single number may speak for the whole, and contrast does not count.
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    flat = np.minimum(flat, 0.2)
    return flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)


def _cell_weights(size: int) -> np.ndarray:
    """Return the shares (cells, size) of the pixels of a line in each cell: 1 at its middle, 0 at the next one's."""
    pixels = (np.arange(size) + 0.5) / size * _CELLS - 0.5
    return np.maximum(0, 1 - np.abs(pixels - np.arange(_CELLS)[:, np.newaxis]))


def neighbour_graph(rows: np.ndarray, n_neighbours: int = N_NEIGHBOURS, block: int = 1000) -> sparse.csr_array:
    """Return the symmetric 0/1 graph of exact nearest neighbours, a block of rows at a time."""
    rows = rows.astype(np.float32)
    squares = (rows**2).sum(axis=1)
    near = []
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        distances = squares - 2 * (rows[part] @ rows.T)  # less the row's own square, which changes no order
        distances[np.arange(distances.shape[0]), np.arange(start, start + distances.shape[0])] = np.inf
        near.append(np.argpartition(distances, n_neighbours, axis=1)[:, :n_neighbours])
    columns = np.concatenate(near).ravel()
    pointers = np.arange(0, columns.size + 1, n_neighbours)
    graph = sparse.csr_array((np.ones(columns.size), columns, pointers), shape=(len(rows), len(rows)))
    return graph.maximum(graph.T)


def embed(graph: sparse.csr_array, n_features: int = N_FEATURES) -> np.ndarray:
    """Return the eigenvectors (N, n) of the normalised Laplacian after the trivial one, times sqrt(N)."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scaled = sparse.dia_array((1 / np.sqrt(degree)[np.newaxis], [0]), shape=graph.shape)
    start = np.sqrt(degree) + np.linspace(0, 1e-3, degree.size)  # not random: the same features each time
    values, vectors = eigsh(scaled @ graph @ scaled, k=n_features + 1, which="LA", v0=start)
    order = np.argsort(-values)[1:]
    vectors = vectors[:, order]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(n_features)])
    return vectors * signs * np.sqrt(len(vectors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--idx", type=Path, help="a folder with the four IDX files; by default OpenML")
    args = parser.parse_args()
    images, digits = load_openml() if args.idx is None else load_idx(args.idx)
    features = embed(neighbour_graph(describe(images)))
    np.savez_compressed(args.output, features=features.astype(np.float32), labels=digits.astype(np.uint8))
    print(f"written: {args.output}, {features.shape[0]} × {features.shape[1]}")


if __name__ == "__main__":
    main()
