#!/usr/bin/env python3
"""Writes inputs and expected outputs of the examples: those of vector_add and softmax beside this file, the others
in data/ as PROGRAM.TENSOR.npy.

The inputs are random numbers; the expected values are computed from them by plain numpy formulas, in float64 where
anything is rounded, and rounded once. Nothing of seqjit takes part. Usage: python3 examples/make_references.py
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def save(name, values):
    np.save(HERE / f"{name}.npy", np.ascontiguousarray(values, dtype=np.float32))


def save_all(program, **tensors):
    (HERE / "data").mkdir(exist_ok=True)
    for name, values in tensors.items():
        if values.dtype == np.float64:
            values = values.astype(np.float32)
        np.save(HERE / "data" / f"{program}.{name}.npy", np.ascontiguousarray(values))


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def bfloat16(values):
    """The upper halves of numbers that bfloat16 holds exactly; numpy knows the type as two bytes without meaning."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any()
    return (bits >> 16).astype(np.uint16).view("V2")


def layernorm(rng):
    x, g, b = 2 * normal(rng, 128, 64) + 1, normal(rng, 64), normal(rng, 64)
    x64 = x.astype(np.float64)
    mean, variance = x64.mean(axis=1, keepdims=True), x64.var(axis=1, keepdims=True)
    save_all("layernorm", x=x, g=g, b=b, y=(x64 - mean) / np.sqrt(variance + 1e-5) * g + b)


def topk(rng):
    # Few different numbers, so that every row has equal ones.
    x = np.round(8 * normal(rng, 128, 64)) / 8
    order = np.argsort(-x, axis=1, kind="stable")[:, :16]
    save_all("topk", x=x, values=np.take_along_axis(x, order, axis=1), indices=order.astype(np.uint32))


def embedding(rng):
    table = normal(rng, 64, 700).astype(np.float16)
    index = rng.integers(0, 700, 96).astype(np.uint32)
    index[[0, 1, 2, 3, 4]] = 511, 512, 699, 1024, 0xFFFFFFFF
    found = np.where(index < 700, table[:, np.minimum(index, 699)], np.float16(0))
    save_all("embedding", t=table, i=index, y=found)


def lfsr_numbers(seed, words, lanes):
    """Numbers in [0, 1) of DVE's generators for DROPOUT words of so many elements, one row a lane: four 32-bit shift
    registers with taps 32, 22, 2 and 1 for each lane, used in turn anew by each word; the low 23 bits of each step
    are the fraction."""
    rows = []
    for lane in range(lanes):
        state = [seed ^ (0x9E3779B9 * (4 * lane + j + 1)) % 2**32 or 1 for j in range(4)]
        row = []
        for count in words:
            for k in range(count):
                s = state[k % 4]
                bit = (s >> 31 ^ s >> 21 ^ s >> 1 ^ s) & 1
                state[k % 4] = s = (s << 1 | bit) % 2**32
                row.append((s & 0x7FFFFF) / 2**23)
        rows.append(row)
    return np.array(rows)


def dropout(rng):
    x, seed = normal(rng, 128, 64), 0x2A
    kept = lfsr_numbers(seed, [32, 32], 128) >= 0.25
    scaled = x * np.float32(1 / (1 - 0.25))
    save_all("dropout", x=x, seed=np.array([seed], np.uint32), y=np.where(kept, scaled, np.float32(0)))


def mamba_scan(rng):
    states, steps = 4, 48
    u, delta = normal(rng, 128, steps), rng.uniform(0.01, 0.5, (128, steps)).astype(np.float32)
    a = -rng.uniform(0.5, 4, (128, states)).astype(np.float32)
    b, c = normal(rng, states, steps), normal(rng, states, steps)
    h, y = np.zeros((128, states)), np.zeros((128, steps))
    for t in range(steps):
        d = delta[:, t, None].astype(np.float64)
        h = np.exp(d * a) * h + d * u[:, t, None] * b[:, t]
        y[:, t] = (h * c[:, t]).sum(axis=1)
    save_all("mamba_scan", u=u, delta=delta, a=a, b=b, c=c, y=y)


def e4m3(codes):
    """Values of fp8 codes: sign, four bits of exponent with bias 7, three bits of mantissa. No special codes."""
    sign, exponent, mantissa = codes >> 7, codes >> 3 & 15, codes & 7
    assert (exponent > 0).all() and (exponent < 15).all()
    return (1.0 - 2.0 * sign) * (1 + mantissa / 8) * 2.0 ** (exponent.astype(int) - 7)


def matmul_fp8(rng):
    # Exponents of -2 to 1: sums of 256 products have at most 24 bits, so that no order of adding rounds.
    codes = lambda *shape: rng.integers(0, 2, shape) << 7 | rng.integers(5, 9, shape) << 3 | rng.integers(0, 8, shape)
    at, b = codes(256, 128).astype(np.uint8), codes(256, 64).astype(np.uint8)
    save_all("matmul_fp8", at=at, b=b, c=e4m3(at).T @ e4m3(b))


def matmul_mx(rng):
    # Elements [tile, scale, row of it, column, lane], scales [scale, tile, column].
    def operand(columns, low):
        elements = rng.integers(0, 2, (2, 16, 8, columns, 4)) << 7
        elements |= rng.integers(5, 8, elements.shape) << 3 | rng.integers(0, 8, elements.shape)
        scales = rng.integers(low, low + 3, (16, 2, columns))
        factors = 2.0 ** (scales - 127).swapaxes(0, 1)[:, :, None, :, None]
        rows = elements.astype(np.uint8).reshape(256, columns, 4)
        return rows, scales.astype(np.uint8), (e4m3(elements) * factors).reshape(256, columns, 4)

    at, sat, a64 = operand(64, 119)
    b, sb, b64 = operand(32, 130)
    c, bound = (np.einsum("rcj,rnj->cn", x, y) for x, y in [(a64, b64), (abs(a64), abs(b64))])
    # The last places of the smallest elements: no order of adding rounds.
    assert bound.max() < 2.0 ** (24 - 5 - 5 + 119 - 127 + 130 - 127)
    save_all("matmul_mx", at=at, sat=sat, b=b, sb=sb, c=c)


def counted_loop(rng):
    x = rng.integers(-1000, 1001, (128, 8 * 16)).astype(np.float32)
    save_all("counted_loop", x=x, y=sum(2**t * x[:, 16 * t : 16 * t + 16] for t in range(8)))


def all_reduce(rng):
    # Multiples of 1/16 up to 4, exact in bfloat16; sums are exact in fp32.
    xt, y = (rng.integers(-64, 65, shape) / 16 for shape in [(256, 128), (256, 64)])
    z = xt.T @ y
    save_all("all_reduce", xt=bfloat16(xt), y=bfloat16(y), z=np.stack([z, z]))


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

    for seed, make in enumerate(
        [layernorm, topk, embedding, dropout, mamba_scan, matmul_fp8, counted_loop, all_reduce, matmul_mx]
    ):
        make(np.random.default_rng(seed))


if __name__ == "__main__":
    main()
