//! Complexity compared with CPython's own tree and with the numbers printed in the paper.

use std::process::{Command, Stdio};

use crate::support::data;
use lyceum_verifier::program::measure;
use lyceum_verifier::{Complexity, Interpreter};

#[test]
fn the_programs_of_the_papers_figure_8_have_the_printed_numbers() {
    let programs = [
        (
            "def f(s: str) -> bool:\n    n = len(s)\n    for i in range(n//2):\n        if s[i] != s[n-1-i]:\n            \
          return False\n    return True",
            (9, 3, 6),
        ),
        (
            "def f(arr: list[int]) -> list[int]:\n    result = []\n    index = 0\n    while index < len(arr):\n        \
          result.append(str(arr[index]))\n        index += 2**(len(arr) - index - 1)\n    return result\n\
          print(f([1, 2, 3, 4, 5, 6, 7]))",
            (9, 2, 8),
        ),
        (
            "def f(input_string: str) -> str:\n    vowels = set('aeiouAEIOU')\n    result = ''\n    for char in input_string:\n\
         \x20       if char not in vowels:\n            result += char\n    return result",
            (6, 3, 7),
        ),
        (
            "def f(nums: list[int]) -> list[int]:\n    sorted_nums = sorted(nums)\n    result = []\n    for num in sorted_nums:\n\
         \x20       digit_sum = sum(int(digit) for digit in str(num))\n        modified_num = num + digit_sum\n        \
          result.append(modified_num)\n    return result",
            (9, 3, 8),
        ),
        ("def f(number: int) -> int:\n    return number * 3", (5, 1, 2)),
        (
            "def f(data: list[dict[str, int]]) -> int:\n    state_sum = 0\n    for entry in data:\n        \
          if 'value' in entry:\n            state_sum += entry['value']\n    return state_sum",
            (8, 3, 6),
        ),
    ];
    for (program, printed) in programs {
        let Complexity { ast_depth, cyclomatic, loc, .. } = measure(program).expect("a program");
        assert_eq!((ast_depth, cyclomatic, loc), printed, "{program}");
    }
}

/// The same metrics from CPython's `ast`, for every program of the data.
const ORACLE: &str = r##"
import ast, gzip, json, sys
data = sys.argv[1]
programs = []
for name in ("7b_coder_seed_io", "7b_coder_code_f_seed_io"):
    programs += [json.loads(line)["snippet"] for line in open(f"{data}/azr_seeds/{name}.jsonl")]
for source in (open(f"{data}/mbpp_plus/MbppPlus.jsonl"), gzip.open(f"{data}/humaneval/HumanEval.jsonl.gz", "rt")):
    for row in map(json.loads, source):
        programs += [row["prompt"] + row["canonical_solution"], row["prompt"], row.get("test", row.get("assertion"))]
def depth(node):
    context = (ast.expr_context,)
    return 1 + max((depth(child) for child in ast.iter_child_nodes(node) if not isinstance(child, context)), default=0)
def branches(node):
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    kinds = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert)
    return int(isinstance(node, kinds))
for program in programs:
    try:
        tree = ast.parse(program)
    except SyntaxError:
        continue
    nodes = list(ast.walk(tree))
    lines = [line.strip() for line in program.split("\n")]
    print(json.dumps({
        "program": program,
        "ast_depth": depth(tree),
        "cyclomatic": 1 + sum(map(branches, nodes)),
        "loc": sum(1 for line in lines if line and not line.startswith("#")),
        "variables": len({n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}),
    }))
"##;

#[test]
fn every_program_of_the_data_measures_as_in_cpython() {
    let Some(data) = data() else { return };
    let python = Interpreter::resolve(None).expect("an interpreter").executable;
    let output =
        Command::new(python).args(["-c", ORACLE]).arg(data).stderr(Stdio::inherit()).output().expect("the oracle runs");
    let mut count = 0;
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let mut row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let program = row.as_object_mut().and_then(|row| row.remove("program")).expect("a program");
        let program = program.as_str().expect("text");
        let expected: Complexity = serde_json::from_value(row).expect("four numbers");
        assert_eq!(measure(program), Ok(expected), "{program}");
        count += 1;
    }
    assert!(count > 1500, "only {count} programs");
}
