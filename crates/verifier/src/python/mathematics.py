# Loads and warms up Math-Verify: its parser builds its tables on first use.

sys.path.extend(sys.argv[1:])

import logging

from math_verify import parse, verify

logging.disable(logging.CRITICAL)


def equal(gold, answer, are_responses=(False, False)):
    texts = zip((gold, answer), are_responses)
    texts = [text if is_response else r"\boxed{%s}" % text for text, is_response in texts]
    parsed = [parse(text, parsing_timeout=None) for text in texts]
    return bool(verify(parsed[0], parsed[1], timeout_seconds=None))


def judge(message):
    return b"V", encode(equal(message["gold"], message["answer"], message["are_responses"]), False, MAX_ARGUMENTS)


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


warm_up()
