#!/usr/bin/env python3
"""seqjit against its interpreter and against numpy, in alternating pairs of one run.

    cargo build --release
    python3 benches/compare/compare.py [--pairs 15] [--programs NAME ...] [--large-pairs 3]

Prints four tables in Markdown, for benches/README.md:

* each program of the test data (SEQJIT_DATA, else ../shared/data): a cold run in `auto`, translation and making of
  engine and session included, against a run in the interpreter;
* trn2_conv2d_4_float32 cold against the same convolution in numpy, as nine shifted matrix products;
* add, scalar and copy of [128 x 512] and [128 x 2048] fp32, warm, against numpy with `out=` and the interpreter;
* a chain of eight operations on such tiles, likewise, which runs as one.

Each pair is one `seqjit bench --runs 1` and one measurement of numpy; figures are medians over the pairs. Absolute
times are of one machine, ratios of one run.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SEQJIT_DATA", ROOT / ".." / "shared" / "data"))
SEQJIT = Path(os.environ.get("SEQJIT", ROOT / "target" / "release" / "seqjit"))
# Words of a run from which programs are measured in fewer pairs.
LARGE = 10_000
# Equal words in the program of one operation.
WORDS = 256


def bench(path):
    """One measurement of a program: times of one run each, in nanoseconds."""
    command = [SEQJIT, "bench", "--runs", "1", "--json", path]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[0]


def median(values):
    return statistics.median(values)


def table(*columns):
    print("| " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * (len(columns) - 1))


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:.2f}"


def programs(names, pairs, large_pairs):
    """Cold runs against the interpreter's."""
    table("program", "words", "interp ms", "cold ms", "interp : cold", "fallbacks", "pairs")
    files = sorted((DATA / "neffs").glob("*.neff"))
    for path in files:
        if names and path.stem not in names:
            continue
        runs = [bench(path)]
        wanted = large_pairs if runs[0]["words"] > LARGE else pairs
        runs += [bench(path) for _ in range(wanted - 1)]
        interp, cold = (median([r[key] for r in runs]) for key in ("interp_ns", "cold_ns"))
        ratio = median([r["interp_ns"] / r["cold_ns"] for r in runs])
        first = runs[0]
        row(path.stem, first["words"], milliseconds(interp), milliseconds(cold), f"{ratio:.2f}",
            first["fallbacks"], wanted)


def numpy_convolution(x, weights, bias):
    """Valid 3 x 3 convolution of [C, H, W] with [O, C, 3, 3] as nine shifted matrix products."""
    channels, height, width = x.shape
    high, wide = height - 2, width - 2
    taps = np.ascontiguousarray(weights.transpose(2, 3, 0, 1))
    out = np.repeat(bias[:, None], high * wide, axis=1)
    for dy in range(3):
        for dx in range(3):
            window = np.ascontiguousarray(x[:, dy:dy + high, dx:dx + wide]).reshape(channels, -1)
            out += taps[dy, dx] @ window
    return out.reshape(-1, high, wide)


def convolution(pairs):
    """The large fp32 convolution, cold, against numpy."""
    path = DATA / "neffs" / "trn2_conv2d_4_float32.neff"
    rng = np.random.default_rng(1)
    x = rng.standard_normal((256, 224, 224), dtype=np.float32)
    weights = rng.standard_normal((256, 256, 3, 3), dtype=np.float32)
    bias = rng.standard_normal(256, dtype=np.float32)
    numpy_convolution(x, weights, bias)
    ours, theirs, interp = [], [], []
    for _ in range(pairs):
        run = bench(path)
        ours.append(run["cold_ns"])
        interp.append(run["interp_ns"])
        started = time.perf_counter_ns()
        numpy_convolution(x, weights, bias)
        theirs.append(time.perf_counter_ns() - started)
    table("trn2_conv2d_4_float32", "ms", "cold : it")
    cold = median(ours)
    row("seqjit, cold", milliseconds(cold), "1")
    row("interpreter", milliseconds(median(interp)), f"{median([c / i for c, i in zip(ours, interp)]):.2f}")
    row("numpy, nine products", milliseconds(median(theirs)),
        f"{median([c / n for c, n in zip(ours, theirs)]):.2f}")


def operation_program(directory, columns, body, times=WORDS):
    """A program of so many times the same words on DVE."""
    text = f"""program operation for cayman
prologue
output done fp32[128, 1]
table addresses = [done]
queue qSPDynamicHW dynamic SP
sbuf a fp32[{columns}]
sbuf b fp32[{columns}]
sbuf out fp32[{columns}]
sbuf zero fp32[1]
DVE init: MEMSET value=0 dtype=FP32 dst=zero channels=128
repeat i in 0..{times} {{
{body}
}}
SP store: DMA zero -> done   after init
SP NOP   after store
"""
    source, neff = directory / "operation.s", directory / "operation.neff"
    source.write_text(text)
    subprocess.run([SEQJIT, "asm", source, "-o", neff], check=True, capture_output=True)
    return neff


def operations(pairs):
    """Warm words against numpy with `out=` and against the interpreter, one word or call each."""
    cases = {
        "add": ("DVE TENSOR_TENSOR op=ADD src0=a src1=b dst=out channels=128",
                lambda a, b, out: np.add(a, b, out=out)),
        "scalar": ("DVE TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=2.0,0 src=a dst=out channels=128",
                   lambda a, b, out: np.multiply(a, np.float32(2), out=out)),
        "copy": ("DVE COPY src=a dst=out channels=128", lambda a, b, out: np.copyto(out, a)),
    }
    table("word", "columns", "warm us", "numpy us", "numpy : warm", "interp : warm")
    for name, (word, call) in cases.items():
        # Equal words would run as one, which computes only what the last one leaves: a NOP keeps each by itself.
        word = f"{word}\nDVE NOP"
        for columns in (512, 2048):
            with tempfile.TemporaryDirectory() as directory:
                neff = operation_program(Path(directory), columns, word)
                a, b, out = (np.zeros((128, columns), np.float32) for _ in range(3))
                warm, interp, theirs = [], [], []
                for _ in range(pairs):
                    run = bench(neff)
                    warm.append(run["warm_ns"] / WORDS)
                    interp.append(run["interp_warm_ns"] / WORDS)
                    started = time.perf_counter_ns()
                    for _ in range(WORDS):
                        call(a, b, out)
                    theirs.append((time.perf_counter_ns() - started) / WORDS)
            ratio = median([n / w for n, w in zip(theirs, warm)])
            gain = median([i / w for i, w in zip(interp, warm)])
            row(name, columns, f"{median(warm) / 1e3:.2f}", f"{median(theirs) / 1e3:.2f}", f"{ratio:.2f}",
                f"{gain:.2f}")


# The words of the chain, and the same in numpy.
CHAIN = (
    ("TENSOR_TENSOR op=ADD src0=a src1=b", lambda a, b, out: np.add(a, b, out=out)),
    ("TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=0.5,0 src=out", lambda a, b, out: np.multiply(out, np.float32(0.5), out=out)),
    ("TENSOR_TENSOR op=SUBTRACT src0=out src1=a", lambda a, b, out: np.subtract(out, a, out=out)),
    ("TENSOR_TENSOR op=MULTIPLY src0=out src1=b", lambda a, b, out: np.multiply(out, b, out=out)),
    ("TENSOR_SCALAR ops=MAX,BYPASS imm=0.0,0 src=out", lambda a, b, out: np.maximum(out, np.float32(0), out=out)),
    ("TENSOR_TENSOR op=ADD src0=out src1=a", lambda a, b, out: np.add(out, a, out=out)),
    ("TENSOR_SCALAR ops=MIN,BYPASS imm=8.0,0 src=out", lambda a, b, out: np.minimum(out, np.float32(8), out=out)),
    ("TENSOR_TENSOR op=SUBTRACT src0=out src1=b", lambda a, b, out: np.subtract(out, b, out=out)),
)


def chain(pairs):
    """Eight operations on a tile as one fused run, against numpy and the interpreter, one chain each."""
    table("chain of 8", "warm us", "numpy us", "numpy : warm", "interp : warm")
    times = WORDS // len(CHAIN)
    body = "\n".join(f"DVE {word} dst=out channels=128" for word, _ in CHAIN)
    for columns in (512, 2048):
        with tempfile.TemporaryDirectory() as directory:
            neff = operation_program(Path(directory), columns, body, times)
            a, b, out = (np.zeros((128, columns), np.float32) for _ in range(3))
            warm, interp, theirs = [], [], []
            for _ in range(pairs):
                run = bench(neff)
                warm.append(run["warm_ns"] / times)
                interp.append(run["interp_warm_ns"] / times)
                started = time.perf_counter_ns()
                for _ in range(times):
                    for _, call in CHAIN:
                        call(a, b, out)
                theirs.append((time.perf_counter_ns() - started) / times)
        ratio = median([n / w for n, w in zip(theirs, warm)])
        gain = median([i / w for i, w in zip(interp, warm)])
        row(f"[128 x {columns}]", f"{median(warm) / 1e3:.1f}", f"{median(theirs) / 1e3:.1f}", f"{ratio:.2f}",
            f"{gain:.2f}")


def threads():
    """Threads that numpy's matrix products may use."""
    named = [f"{name}={os.environ[name]}" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
             if name in os.environ]
    return ", ".join(named) or f"all of {os.cpu_count()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--large-pairs", type=int, default=3, help="pairs of programs of more than 10,000 words")
    parser.add_argument("--programs", nargs="*", default=[], help="only these programs")
    parser.add_argument("--skip", nargs="*", default=[], choices=["programs", "convolution", "operations", "chain"])
    arguments = parser.parse_args()
    print(f"numpy {np.__version__}, threads of its matrix products: {threads()}; "
          f"elementwise calls and seqjit: 1\n", flush=True)
    parts = {
        "programs": lambda: programs(arguments.programs, arguments.pairs, arguments.large_pairs),
        "convolution": lambda: convolution(arguments.large_pairs),
        "operations": lambda: operations(arguments.pairs),
        "chain": lambda: chain(arguments.pairs),
    }
    for name, part in parts.items():
        if name not in arguments.skip:
            part()
            print()


if __name__ == "__main__":
    main()
