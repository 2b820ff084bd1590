//! Scores by the user's own reward: a Python file with `score(prompt, completion, row)`.

use ruff_python_ast::{Expr, Parameters, Stmt};
use ruff_python_parser::parse_module;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::JsonText;
use crate::artifact::Digest;
use crate::dataset::check_python;

/// Most bytes of a reward's file.
pub const MAX_REWARD_FILE: usize = 64 << 10;
/// Most seconds of CPU time that a reward may take for a completion.
pub const MAX_REWARD_TIMEOUT: u32 = 60;
/// Most parts of a score.
pub const MAX_REWARD_PARTS: usize = 16;
/// The part that a score of one number is.
pub const SCORE: &str = "score";
/// The part that decides, where there is one, whether an answer counts as correct.
pub const CORRECT: &str = "correct";

/// A package that the sandbox offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RewardPackage {
    /// NumPy.
    Numpy,
    /// SymPy.
    Sympy,
}

crate::named!(RewardPackage, "a package of the sandbox");

/// A completion to be scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reward {
    pub file: Digest,
    /// Its text; none where it stands elsewhere in the same payload, or is not stored.
    pub source: Option<String>,
    /// Seconds of CPU time.
    pub timeout: u32,
    /// Packages that it needs.
    pub packages: Vec<RewardPackage>,
    /// The row's question.
    pub prompt: String,
    /// The model's whole answer.
    pub completion: String,
    /// The row, a JSON object.
    pub row: JsonText,
}

/// Refuses a file that cannot be a reward. Nothing of it is run: whether it can be loaded, the sandbox finds out.
///
/// # Errors
/// What is wrong, and what would be valid.
pub fn check_reward(source: &str) -> Result<(), String> {
    if source.len() > MAX_REWARD_FILE {
        let length = source.len();
        return Err(format!("it has {length} bytes: at most {MAX_REWARD_FILE} are valid"));
    }
    check_python("file", source)?;
    let module = parse_module(source).map_err(|error| error.to_string())?;
    let defined = module.suite().iter().rev().find_map(|statement| match statement {
        Stmt::FunctionDef(function) if function.name.as_str() == SCORE => Some(Some(&*function.parameters)),
        Stmt::Assign(of) if of.targets.iter().any(is_score) => Some(parameters_of(&of.value)),
        Stmt::AnnAssign(of) if is_score(&of.target) => Some(of.value.as_deref().and_then(parameters_of)),
        _ => None,
    });
    let Some(parameters) = defined else {
        return Err("it defines no function `score`: `def score(prompt, completion, row)` is valid".to_owned());
    };
    // Anything else that is assigned, such as a partial or an instance, is called as it is.
    let Some(parameters) = parameters else { return Ok(()) };
    let positional = parameters.posonlyargs.iter().chain(&parameters.args);
    let (all, needed) = (positional.clone().count(), positional.filter(|one| one.default.is_none()).count());
    let takes_three = needed <= 3 && (all >= 3 || parameters.vararg.is_some());
    let keywords = parameters.kwonlyargs.iter().any(|one| one.default.is_none());
    if !takes_three || keywords {
        return Err(
            "its `score` cannot be called with three values: `def score(prompt, completion, row)` is valid".to_owned()
        );
    }
    Ok(())
}

fn is_score(target: &Expr) -> bool {
    target.as_name_expr().is_some_and(|name| name.id.as_str() == SCORE)
}

/// The parameters of a lambda that has any.
fn parameters_of(value: &Expr) -> Option<&Parameters> {
    value.as_lambda_expr()?.parameters.as_deref()
}

/// Whether `name` can name a part: it becomes a key of rewards and charts.
pub fn is_part_name(name: &str) -> bool {
    let mut letters = name.bytes();
    name.len() <= 40
        && letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reward_defines_score_of_three_values() {
        for source in [
            "def score(prompt, completion, row):\n    return 1",
            "import numpy\ndef setup(): pass\ndef score(p, c, r, scale=2): return scale",
            "def score(*given): return 0.5",
            "async def score(a, b, c): return 1",
            "score = lambda prompt, completion, row: 1.0",
            "import functools\nscore = functools.partial(max, 1)",
            "class Judge:\n    def __call__(self, p, c, r): return 1\nscore: Judge = Judge()",
            "\u{feff}def score(p, c, r): return 1",
        ] {
            assert_eq!(check_reward(source), Ok(()), "{source}");
        }
        for (source, said) in [
            ("", "no function `score`"),
            ("x = 1\ndef score(", "line 2"),
            ("def f(prompt, completion, row): pass", "no function `score`"),
            ("class A:\n    def score(self, p, c): pass", "no function `score`"),
            ("def score(completion): return 1", "three values"),
            ("def score(a, b, c, d): return 1", "three values"),
            ("score = lambda completion: 1", "three values"),
            ("def score(a, b, c, *, d): return 1", "three values"),
            (&" ".repeat(MAX_REWARD_FILE + 1), "at most 65536"),
        ] {
            let refused = check_reward(source).unwrap_err();
            assert!(refused.contains(said), "{source:.40}: {refused}");
        }
    }

    #[test]
    fn parts_have_plain_names() {
        assert!(["score", "a", "Length_2"].into_iter().all(is_part_name));
        let odd = ["", "_a", "2a", "a b", "a.b", "<b>", "é", "a\0", "a\u{202e}"];
        assert!(!odd.into_iter().any(is_part_name) && !is_part_name(&"a".repeat(41)));
    }
}
