# Loads and warms up Math-Verify: its parser builds its tables on first use.

sys.path.extend(sys.argv[1:])

import functools
import logging
import re

import sympy
from math_verify import grader, parse, verify
from sympy import Basic, Float, Integer, expand
from sympy.parsing.sympy_parser import convert_xor, implicit_multiplication, parse_expr, standard_transformations

logging.disable(logging.CRITICAL)

# How far numbers may differ of which one is a decimal fraction, relative to the larger. The addition is for their own
# rounding: 0.333333 is as far from 1/3 as is allowed.
TOLERANCE = Float("1e-6", 30) * (1 + Float("1e-9", 30))

their_numeric_eq = grader.sympy_numeric_eq


def numeric_eq(gold, answer, float_rounding, numeric_precision):
    """Replaces Math-Verify's, which takes numbers for equal that differ by less than 1e-6, or whose difference it rounds to
    zero: it does so with all small ones."""
    if not (isinstance(gold, Basic) and isinstance(answer, Basic)) or gold.is_Matrix or answer.is_Matrix:
        # Compares the elements of matrices by the function that is replaced here.
        return their_numeric_eq(gold, answer, float_rounding, numeric_precision)
    if all(grader.is_atomic_or_pct_atomic(side, Integer) for side in (gold, answer)):
        # 9 % is 9, too.
        return grader.get_pct_val(gold, gold) == grader.get_pct_val(answer, answer)
    try:
        if gold.has(Float) or answer.has(Float):
            return is_close(grader.safe_sympy_doit(gold), grader.safe_sympy_doit(answer))
        return is_exactly_zero(gold - answer)
    except Exception:
        return False


def is_close(gold, answer):
    """Whether the two are equal up to the tolerance, coefficient by coefficient."""
    if not (gold.free_symbols or answer.free_symbols):
        return are_close_numbers(gold, answer)
    gold, answer = (expand(side).as_coefficients_dict() for side in (gold, answer))
    return all(are_close_numbers(gold[term], answer[term]) for term in {*gold, *answer})


def are_close_numbers(gold, answer):
    gold, answer = gold.evalf(30), answer.evalf(30)
    if not (gold.is_finite and answer.is_finite):
        return gold == answer
    return bool(abs(gold - answer) <= TOLERANCE * max(abs(gold), abs(answer)))


def is_exactly_zero(difference):
    """Whether 200 digits of the terms cancel. SymPy marks a sum of which no digit is left by a precision of 1."""
    value = difference.evalf(15)
    if value.free_symbols or any(number._prec == 1 for number in value.atoms(Float)):
        value = difference.evalf(15, maxn=200)
        value = value.xreplace({number: Integer(0) for number in value.atoms(Float) if number._prec == 1})
    return value == 0


grader.sympy_numeric_eq = numeric_eq

ELLIPSIS = r"(?:\.{3}|…|\\(?:[lcvd]?dots[bcimo]?|hdots)(?![a-zA-Z]))"


def with_ellipses(text):
    """A text in which a symbol stands for an ellipsis: Math-Verify drops it, or gives up on the text and compares a number
    in it. After the digits of a decimal fraction it is dropped here, too."""
    text = re.sub(r"(\.\d+)\s*" + ELLIPSIS, r"\1", text)
    return re.sub(ELLIPSIS, r" \\Xi ", text)


# What a word means in plain notation. Single letters are variables, except for e.
NAMES = {name: getattr(sympy, name) for name in "pi exp sqrt cbrt sin cos tan cot sec csc asin acos atan log factorial".split()}
NAMES.update(ln=sympy.log, arcsin=sympy.asin, arccos=sympy.acos, arctan=sympy.atan, abs=sympy.Abs, e=sympy.E)
NAMES.update(inf=sympy.oo, oo=sympy.oo, infinity=sympy.oo, Pi=sympy.pi)
TRANSFORMATIONS = (*standard_transformations, convert_xor, implicit_multiplication)


def in_plain_notation(text):
    """What a text says in the notation of programs and calculators; nothing if it is not written in it."""
    words = re.findall("[A-Za-z]+", text)
    is_known = all(len(word) == 1 or word in NAMES for word in words)
    if not (is_known and re.fullmatch(r"[0-9A-Za-z+\-*/^()!., ]+", text)):
        return []
    names = {word: sympy.Symbol(word, real=True) for word in words} | NAMES
    try:
        return [parse_expr(text, names, TRANSFORMATIONS)]
    except Exception:
        return []


@functools.cache
def read(text, is_response, plain):
    # Remembered, because the answers of a cluster are compared many times.
    parsed = parse(with_ellipses(text) if is_response else r"\boxed{%s}" % with_ellipses(text), parsing_timeout=None)
    return parsed + in_plain_notation(text) if plain else parsed


def equal(gold, answer, are_responses=(False, False), plain=False):
    gold, answer = (read(text, is_response, plain) for text, is_response in zip((gold, answer), are_responses))
    if verify(gold, answer, timeout_seconds=None):
        return True
    numbers = with_imaginary(gold), with_imaginary(answer)
    return numbers != (gold, answer) and bool(verify(*numbers, timeout_seconds=None))


def with_imaginary(parsed):
    """The parsed readings with the imaginary unit for `i`, which Math-Verify takes for a variable."""
    return [replaced(one) if isinstance(one, Basic) else one for one in parsed]


def replaced(one):
    units = {symbol: sympy.I for symbol in one.free_symbols if symbol.name == "i"}
    try:
        return one.xreplace(units).doit() if units else one
    except Exception:
        return one


def judge(message):
    is_equal = equal(message["gold"], message["answer"], message["are_responses"], message["plain"])
    return b"V", encode(is_equal, False, MAX_ARGUMENTS)


HANDLERS["math"] = judge


def warm_up():
    for gold, answer in [
        (r"\frac{1}{2}", "0.5"),
        (r"\sqrt{2}+1", "1+2^{1/2}"),
        (r"\{1,2\}", "1, 2"),
        ("(1,2)", r"[1,\infty)"),
        (r"x^2+2x", "x(x+2)"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\text{a}"),
    ]:
        equal(gold, answer)
    equal("1", "it is $1$", (False, True))
    equal("pi/2", "3.14", plain=True)


warm_up()
