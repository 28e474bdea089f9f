#!/usr/bin/env python3
"""Writes inputs and expected outputs of vector_add and softmax beside this file.

The inputs are random fp32 numbers; the expected values are computed from them in float64 by plain numpy formulas
and rounded once. Nothing of seqjit takes part. Usage: python3 examples/make_references.py
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def save(name, values):
    np.save(HERE / f"{name}.npy", np.ascontiguousarray(values, dtype=np.float32))


def main():
    rng = np.random.default_rng(20240601)

    a, b = (rng.standard_normal((128, 64)).astype(np.float32) for _ in range(2))
    save("vector_add_a", a)
    save("vector_add_b", b)
    save("vector_add_out", a.astype(np.float64) + b.astype(np.float64))

    x = (2 * rng.standard_normal((256, 128))).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    save("softmax_x", x)
    save("softmax_y", e / e.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main()
