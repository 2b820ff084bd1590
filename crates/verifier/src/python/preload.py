# Commonly imported modules. Modules with machine code must be here: a child may not map executable memory.

import abc, array, bisect, cmath, collections.abc, contextlib, copy, dataclasses, datetime, decimal, enum, fractions
import functools, heapq, itertools, math, numbers, operator, random, re, statistics, string, textwrap, typing
import zlib, binascii, hashlib, unicodedata
