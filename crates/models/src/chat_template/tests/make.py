"""Renders templates with Jinja 3.1 as transformers sets it up, and writes what it gives to golden.json.

    pip install jinja2==3.1.6; python crates/models/src/chat_template/tests/make.py

Each template uses features that chat templates of public models use: the first ones one feature each, the last ones those of a
family together. They are written for this test.
"""

import json
import pathlib

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


ENVIRONMENT = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception

TOOL = {"type": "function", "function": {"name": "add", "description": "Adds é.", "parameters": {
    "type": "object", "properties": {"a": {"type": "number", "default": 1.0}, "b": {"enum": [1, None, True]}}, "required": ["a"]}}}
CHAT = [
    {"role": "system", "content": "Be  brief.\n"},
    {"role": "user", "content": " What's 1 + 1? "},
    {"role": "assistant", "content": "<think>\none\n</think>\n\nIt is 2.", "tool_calls": [
        {"function": {"name": "add", "arguments": {"a": 1, "b": 2.5, "c": "it's", "d": [None, False]}}}]},
    {"role": "tool", "content": "2", "name": "add"},
    {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "image"}, {"type": "text", "text": " 2 + 2?"}]},
]
VALUES = {
    "s": "  ab,c  d-e ", "w": "Hello wORLD it's", "n": 7, "f": 2.5, "none": None, "t": True, "l": [1, "b", None, 2.0], "d": {
        "k": "v", "x": 1.0, "y": [1, {"z": False}], "q": "it's", "u": "é\n\t\\\"'\x07\u200b"}, "neg": -7, "empty": "", "lines": "a\r\nb\n\nc\x0bd",
    "big": 1e16, "small": 1.5e-7, "third": 1 / 3, "whole": 3.0, "long": 123456789012345.0, "million": 1e22,
}

FEATURES = """\
{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'abcab'.lstrip('ab') }}|{{ 'abcab'.rstrip('ba') }}
{{ s.split() }}|{{ s.split(',') }}|{{ s.split(' ', 1) }}|{{ 'a,b,,c'.split(',', maxsplit=2) }}|{{ ''.split() }}|{{ ''.split(',') }}
{{ ' a  b c '.split(None, 1) }}|{{ ' a  b c '.rsplit(None, 1) }}|{{ 'a-b-c'.rsplit('-', 1) }}|{{ 'a-b-c'.rsplit('-') }}|{{ 'abc'.split('x') }}
{{ 'a</think>b</think>c'.split('</think>')[-1] }}|{{ 'a</think>b'.split('</think>', 1)[1] }}|{{ 'a.b'.partition('.') }}|{{ 'a.b.c'.rpartition('.') }}|{{ 'ab'.partition('.') }}|{{ 'ab'.rpartition('.') }}
{{ 'prefix-x'.removeprefix('prefix-') }}|{{ 'x'.removeprefix('y') }}|{{ 'x.txt'.removesuffix('.txt') }}|{{ 'x'.removesuffix('') }}
{{ 'abab'.replace('a', 'x') }}|{{ 'abab'.replace('a', 'x', 1) }}|{{ 'ab'.replace('', '-') }}|{{ 'é-é'.replace('é', 'e', -1) }}
{{ 'abc'.startswith('ab') }}|{{ 'abc'.startswith(('x', 'a')) }}|{{ 'abc'.endswith(('x', 'bc')) }}|{{ 'abc'.startswith('b', 1) }}|{{ 'abc'.endswith('b', 0, 2) }}|{{ 'abc'.endswith('b', 0, -1) }}
{{ 'éab'.find('a') }}|{{ 'abab'.rfind('a') }}|{{ 'ab'.find('x') }}|{{ 'abab'.index('b') }}|{{ 'abab'.rindex('b') }}|{{ 'abab'.find('a', 1) }}|{{ 'abab'.count('ab') }}|{{ 'aaa'.count('aa') }}|{{ 'ab'.count('') }}
{{ w.upper() }}|{{ w.lower() }}|{{ w.title() }}|{{ w.capitalize() }}|{{ w.swapcase() }}|{{ 'ß'.upper() }}|{{ 'ÀB'.casefold() }}
{{ 'a'.center(4) }}|{{ 'ab'.center(5, '*') }}|{{ 'abc'.center(6, '*') }}|{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }}|{{ '-5'.zfill(4) }}|{{ '42'.zfill(1) }}|{{ 'a\\tb'.expandtabs(4) }}
{{ 'ab'.isalpha() }}|{{ ''.isalpha() }}|{{ '12'.isdigit() }}|{{ ''.isdigit() }}|{{ '½'.isdigit() }}|{{ '½'.isnumeric() }}|{{ '²'.isdigit() }}|{{ '²'.isdecimal() }}|{{ 'a1'.isalnum() }}|{{ ' \\n'.isspace() }}|{{ 'ab1'.islower() }}|{{ 'A1'.isupper() }}|{{ '1'.isupper() }}|{{ 'Ab Cd'.istitle() }}|{{ 'a_1'.isidentifier() }}|{{ '1a'.isidentifier() }}|{{ 'é'.isascii() }}|{{ 'a b'.isprintable() }}
{{ lines.splitlines() }}|{{ lines.splitlines(true) }}|{{ ','.join(['a', 'b']) }}|{{ [1, 2.0, none, 'x']|join(', ') }}|{{ [d]|join }}|{{ [{'a': 1}, {'a': 2.0}]|join('-', attribute='a') }}
{{ '%s-%02d' % ('a', 5) }}|{{ '%s' % 'x' }}|{{ '%s %s' % (1, 2.0) }}|{{ '%5.2f|%-5d|%+d|%x' % (f, n, n, 255) }}|{{ '%d%%' % 50 }}|{{ '%s' % [1, 'a'] }}|{{ '%s' % d.y }}
{{ '%(a)s=%(b)03d' % {'a': 'x', 'b': 7} }}|{{ '%s' % none }}|{{ '%s' | format('z') }}|{{ '%s: %s'|format('k', [none]) }}|{{ '%r' % 'a' }}|{{ '%c' % 'a' }}|{{ '%e' % 12345.678 }}|{{ '%g' % 0.5 }}
{{ n % 4 }}|{{ neg % 4 }}|{{ n % -4 }}|{{ f % 2 }}|{{ -7.5 % 2 }}|{{ 2 + n % 4 * 3 }}|{{ n * 2 % 4 }}|{{ n % 4 % 2 }}|{{ (n + 1) % 2 == 0 }}|{{ 'odd' if n % 2 else 'even' }}|{{ 10 - n % 4 - 1 }}|{{ n|string|length % 2 }}|{{ 2 ** 3 % 5 }}
{% for i in range(5) %}{{ i % 2 }}{% if i % 2 == 1 and not (i % 3) %}!{% endif %}{% endfor %}|{% set x = n % 4 %}{{ x }}|{{ [n % 2, n % 3] }}|{{ {'a': n % 2} }}|{{ l[n % 4] }}|{{ range(n % 4)|list }}
{{ 'a' ~ 1 ~ none ~ t ~ 2.0 ~ [1] ~ d.k }}|{{ '1' + 2 ~ 3 }}|{{ 'a' ~ 'b' + 'c' }}|{{ 'x' ~ n % 4 ~ 'y' }}|{{ 'a' ~ (1 if t else 2) ~ 'b' }}|{{ ('a' ~ 'b')|upper }}|{{ 'a' ~ 'b'|upper }}|{{ 'a' ~ nothing ~ 'b' }}|{{ 'p' ~ 1 == 'p1' }}|{{ 'a' ~ 2 * 3 }}|{{ 'a' ~ -1 }}
{% for m in messages %}{{ '<' ~ m.role ~ (' ' ~ loop.index if not loop.first else '') ~ '>' }}{% endfor %}|{{ messages[0]['role'] ~ ':' ~ messages[0]['content'].strip() }}
{{ '{}:{}'.format('k', 1) }}|{{ '{1}{0}'.format('a', 'b') }}|{{ '{a}'.format(a='x') }}|{{ '{:>4}|{:<4}|{:^4}'.format('a', 'b', 'c') }}|{{ '{:.2f}'.format(f) }}|{{ '{{}}'.format() }}|{{ '{:03d}'.format(7) }}
{{ d }}|{{ l }}|{{ (1, 'a') }}|{{ (1,) }}|{{ () }}|{{ {} }}|{{ [] }}|{{ {'a': {'b': [none, true]}} }}|{{ [''] }}|{{ {1: 2, 'x': (3, 4)} }}
{{ big }}|{{ small }}|{{ third }}|{{ whole }}|{{ long }}|{{ million }}|{{ 1.0 }}|{{ 0.1 + 0.2 }}|{{ 1e300 * 1e10 }}|{{ 7 / 2 }}|{{ 7 // 2 }}|{{ 6 / 2 }}|{{ 2 ** 0.5 }}|{{ 10 ** 3 }}|{{ -0.0 }}|{{ [big, small] }}|{{ 1e-5 }}|{{ 0.0001 }}
{{ none }}|{{ t }}|{{ true and false }}|{{ nothing }}|{{ nothing is defined }}|{{ [none, true] }}|{{ none|string }}|{{ f|string }}|{{ d|string }}|{{ 3|string ~ 'x' }}
{{ d|tojson }}|{{ l|tojson }}|{{ 'é"\\\\\\n'|tojson }}|{{ (1, 2)|tojson }}|{{ 1.0|tojson }}|{{ big|tojson }}|{{ none|tojson }}|{{ {}|tojson }}|{{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}|{{ 'é'|tojson(ensure_ascii=true) }}
{{ d|tojson(indent=2) }}|{{ [[], {}, [1]]|tojson(indent=4) }}|{{ {'a': [1, 2]}|tojson(separators=(',', ':')) }}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}|{{ d.get('k') }}|{{ d.get('no') }}|{{ d.get('no', 'dflt') }}|{{ d.keys()|list }}|{{ d.values()|list|length }}|{{ 'k' in d }}|{{ d|items|list|length }}|{{ d|length }}|{{ d.items()|list|first }}
{{ [1, 2, 1].count(1) }}|{{ ['a', 'b'].index('b') }}|{{ (1, 2).index(2) }}|{{ l[::-1] }}|{{ l[1:] }}|{{ 'abc'[::-1] }}|{{ 'abc'[1:] }}|{{ [1] + [2.0] }}|{{ 'ab' * 2 }}|{{ 'a' + 'b' }}|{{ l|first }}|{{ l|last }}
{{ d is mapping }}|{{ l is iterable }}|{{ 'a' is string }}|{{ l is string }}|{{ d is iterable }}|{{ none is none }}|{{ n is number }}|{{ t is boolean }}|{{ n is divisibleby 7 }}|{{ nothing is undefined }}|{{ l is sequence }}|{{ f is float }}|{{ n is integer }}|{{ n is not none }}
{% set ns = namespace(found=false, n=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}{% set ns.n = ns.n + 1 %}{% endif %}{% endfor %}{{ ns.found }} {{ ns.n }}
{% for m in messages %}{% if m.role == 'tool' %}{% break %}{% endif %}{% if loop.first %}{% continue %}{% endif %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.last }}{% endfor %}
{% macro show(m, tag='x') %}<{{ tag }}>{{ m.role }}</{{ tag }}>{% endmacro %}{{ show(messages[0]) }}{{ show(messages[1], tag='y') }}
{{ messages|selectattr('role', 'equalto', 'user')|list|length }}|{{ messages|map(attribute='role')|join(',') }}|{{ messages|rejectattr('role', 'equalto', 'user')|map(attribute='role')|list }}|{{ l|select('string')|list }}|{{ [3, 1, 2]|sort }}|{{ [1, 1]|unique|list }}|{{ [3, 1]|max }}|{{ [1, 2.5]|sum }}
{{ messages[-1].content|map(attribute='type')|list }}|{{ w|trim|upper }}|{{ nothing|default('d') }}|{{ ''|default('d', true) }}|{{ '3'|int + 1 }}|{{ 'x'|int }}|{{ '1.5'|float }}|{{ 2.567|round(1) }}|{{ -3|abs }}|{{ 'abc'|list }}|{{ 'a b'|replace(' ', '_') }}|{{ 'a\\nb'|indent(2) }}|{{ 'abc'|reverse }}|{{ 'ab c'|title }}|{{ 'ab c'|capitalize }}
""".splitlines()

FAMILIES = {
    "chatml": """{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content']|string + '<|im_end|>' + '\\n' }}
{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "thinking": """{%- for m in messages %}
{%- if m.role == 'assistant' %}
{%- set thought = '' %}
{%- set said = m.content %}
{%- if '</think>' in said %}
{%- set thought = said.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{%- set said = said.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{{- '[' ~ thought ~ ']' ~ said }}
{%- for call in m.tool_calls %}{{- '\\n<tool_call>' ~ (call.function.arguments if call.function.arguments is string else call.function.arguments|tojson) }}{% endfor %}
{%- endif %}
{%- endfor %}""",
    "tools as printed": """{% if tools %}{{ 'Tools: ' + tools|string }}
{% for tool in tools %}{{ tool.function.name ~ ': ' ~ tool.function.parameters }}{% for name, p in tool.function.parameters.properties.items() %}
 - {{ '%s (%s)' % (name, p.get('type', 'any')) }}{{ ' = ' ~ p.default if 'default' in p else '' }}{{ p.enum if p.enum is defined }}
{% endfor %}{% endfor %}{% endif %}""",
    "arguments as keywords": """{% for m in messages if m.tool_calls is defined %}{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ "'" ~ v ~ "'" if v is string else v }}{{ ', ' if not loop.last }}{% endfor %}){% endfor %}{% endfor %}""",
    "alternation": """{% for m in messages %}{% if m.role == 'user' and loop.index0 % 2 == 0 %}{{ '%d:%s ' % (loop.index0, m.role) }}{% else %}{{ '-' * (loop.index0 % 3) }}{% endif %}{% endfor %}""",
    "system first": """{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content']|trim %}{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}
<<SYS>>{{ system }}<</SYS>>
{% for m in rest %}{{ bos_token ~ m.role|upper ~ eos_token }}{% endfor %}""",
    "parts": """{% for m in messages %}{% if m.content is string %}{{ m.content.strip() }}{% else %}{% for p in m.content %}{{ p.text if p.type == 'text' else '<image %d>' % loop.index }}{% endfor %}{% endif %}
{% endfor %}""",
    "tools and documents not given": """{% if tools is not none %}tools{% endif %}{% if documents %}documents{% endif %}{{ tools }}{{ (tools or [])|length }}""",
    "indented": """
    {%- for m in messages -%}
        {%- if loop.first -%}
            first
        {% elif m.role == 'user' %}
            {{ m.role }}
        {%- endif %}

    {% endfor %}
end
""",
    "raised": "{{ raise_exception('Only ' ~ 2 ~ ' roles: %s' % messages|map(attribute='role')|list|length) }}",
    "not a method": "{{ 'a'.nosuch() }}",
    "index of what is not there": "{{ 'ab'.index('x') }}",
    "joined numbers": "{{ ','.join([1, 2]) }}",
}


def main():
    cases = []
    templates = [(f"feature {number}", source) for number, source in enumerate(FEATURES)]
    for name, source in templates + list(FAMILIES.items()):
        variables = VALUES | {"messages": CHAT, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"}
        tools = [TOOL] if name == "tools as printed" else None
        case = {"name": name, "source": source, "tools": tools}
        try:
            case["text"] = ENVIRONMENT.from_string(source).render(**variables, tools=tools, documents=None)
        except Exception as error:
            case["error"] = str(error)
        cases.append(case)
    golden = {"messages": CHAT, "values": VALUES, "cases": cases}
    path = pathlib.Path(__file__).with_name("golden.json")
    path.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n")


main()
