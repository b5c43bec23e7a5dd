"""Which instructions are chosen for which CPU."""

import pytest

from qckm.kernels import instructions as isa


@pytest.mark.parametrize(
    "triple, features, expected",
    [
        ("x86_64-unknown-linux-gnu", "+sse2,+ssse3,+avx2,+avx512f,+avx512bw", isa.AVX512),
        ("x86_64-unknown-linux-gnu", "+ssse3,+avx2,+avx512f,-avx512bw", isa.AVX2),
        ("x86_64-apple-darwin", "+ssse3,-avx2", isa.SSSE3),
        ("x86_64-unknown-linux-gnu", "", isa.SSE2),
        ("aarch64-unknown-linux-gnu", "+neon", isa.NEON),
        ("arm64-apple-darwin", "", isa.NEON),
        ("riscv64-unknown-linux-gnu", "+v", isa.PLAIN),
    ],
)
def test_by_triple_and_features(triple, features, expected):
    assert isa.choose(triple, features) is expected


@pytest.mark.parametrize("chosen", [isa.AVX512, isa.AVX2, isa.SSSE3, isa.SSE2, isa.NEON, isa.PLAIN])
def test_tiles_fit_what_the_epilogues_assume(chosen):
    assert chosen.rows % 2 == 0, "cosines take rows in pairs"
    assert chosen.width % 8 == 0, "bits are stored as whole bytes"
    assert 128 % chosen.width == 0, "a panel must not cross a structured block"
