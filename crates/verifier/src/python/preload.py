# A child cannot ask the kernel for randomness. What it gets instead is the same in every child of a zygote and differs
# between zygotes of different hash seeds, so a random program is found out or always does the same.

DRAWN = [0]


def urandom(count):
    data = b""
    while len(data) < count:
        DRAWN[0] += 1
        data += sha256(b"%d %d" % (SEED, DRAWN[0])).digest()
    return data[:count]


os.urandom = urandom

# The module would reseed from the kernel after every fork.
register_at_fork, os.register_at_fork = os.register_at_fork, lambda **_: None
import random

os.register_at_fork = register_at_fork

# Commonly imported modules. Modules with machine code must be here: a child may not map executable memory.

import abc, array, bisect, cmath, collections.abc, contextlib, copy, dataclasses, datetime, decimal, enum, fractions
import functools, heapq, itertools, math, numbers, operator, re, statistics, string, textwrap, typing
import zlib, binascii, hashlib, unicodedata

seed_by_kernel = random.Random.seed


def seed(self, a=None, version=2):
    seed_by_kernel(self, int.from_bytes(urandom(32), "big") if a is None else a, version)


random.Random.seed = seed
random.seed = functools.partial(seed, random._inst)

# Work on long integers is bounded by CPU time.
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)
