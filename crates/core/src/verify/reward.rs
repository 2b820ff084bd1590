//! Scores by the user's own reward: a Python file with `score(prompt, completion, row)`.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Keyword, Parameters, Stmt};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged as _;
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

/// The first text in a reward that looks like a secret, and its line: one that is given to a name with KEY, TOKEN, SECRET or PASSWORD
/// in it, or that has the form of a key of a known service.
pub fn secret_in(source: &str) -> Option<(usize, String)> {
    let module = parse_module(source).ok()?;
    let mut found = Secrets::default();
    module.suite().iter().for_each(|statement| found.visit_stmt(statement));
    let (start, name) = found.first?;
    Some((source[..start].lines().count().max(1), name))
}

#[derive(Default)]
struct Secrets {
    /// Where the first one starts, and what it is called.
    first: Option<(usize, String)>,
}

impl Secrets {
    fn note(&mut self, name: Option<&str>, value: &Expr) {
        let Expr::StringLiteral(text) = value else { return };
        let text = text.value.to_str();
        let called = name.filter(|name| is_secret_name(name) && text.len() >= 8 && !text.contains(['<', ' ', '\n']));
        let found = match called {
            Some(name) => format!("`{name}`"),
            None if has_form_of_key(text) => format!("the text `{}…`", text.chars().take(4).collect::<String>()),
            None => return,
        };
        self.first.get_or_insert((value.start().to_usize(), found));
    }

    fn note_all(&mut self, targets: &[Expr], value: &Expr) {
        for target in targets {
            match target {
                Expr::Name(name) => self.note(Some(name.id.as_str()), value),
                Expr::Attribute(attribute) => self.note(Some(attribute.attr.as_str()), value),
                Expr::Subscript(subscript) => self.note(text_of(&subscript.slice), value),
                _ => {}
            }
        }
    }
}

impl<'a> Visitor<'a> for Secrets {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(of) => self.note_all(&of.targets, &of.value),
            Stmt::AnnAssign(of) => {
                if let Some(value) = &of.value {
                    self.note_all(std::slice::from_ref(&*of.target), value);
                }
            }
            Stmt::FunctionDef(function) => {
                for one in function.parameters.iter_non_variadic_params() {
                    if let Some(default) = &one.default {
                        self.note(Some(one.parameter.name.as_str()), default);
                    }
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        self.note(keyword.arg.as_ref().map(|name| name.as_str()), &keyword.value);
        visitor::walk_keyword(self, keyword);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Dict(dict) => {
                for item in &dict.items {
                    self.note(item.key.as_ref().and_then(text_of), &item.value);
                }
            }
            Expr::StringLiteral(_) => self.note(None, expression),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }
}

fn text_of(expression: &Expr) -> Option<&str> {
    Some(expression.as_string_literal_expr()?.value.to_str())
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].into_iter().any(|word| name.contains(word))
}

/// Whether a text begins like the keys of OpenAI, Anthropic, GitHub, Hugging Face, AWS, Slack, Google, or is a private key or a JWT.
fn has_form_of_key(text: &str) -> bool {
    const PREFIXES: [&str; 12] =
        ["sk-", "ghp_", "gho_", "github_pat_", "hf_", "AKIA", "ASIA", "xoxb-", "xoxp-", "AIza", "glpat-", "lyc_"];
    let is_word =
        |text: &str| text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_jwt = text.starts_with("eyJ") && text.split('.').count() == 3 && text.split('.').all(is_word);
    is_jwt
        || text.contains("-----BEGIN") && text.contains("PRIVATE KEY-----")
        || PREFIXES.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(is_word))
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
    fn texts_that_look_like_secrets_are_found_by_name_or_by_form() {
        for (source, line, said) in [
            ("API_KEY = 'abcd1234'", 1, "`API_KEY`"),
            ("import os\n\nclass A:\n    password: str = 'correct-horse'", 4, "`password`"),
            ("call(x, access_token='0123456789')", 1, "`access_token`"),
            ("def score(p, c, r, secret='hunter22'): return 0", 1, "`secret`"),
            ("headers = {\n'x-api-key': '0123456789'}", 2, "`x-api-key`"),
            ("config['token'] = '0123456789'", 1, "`token`"),
            ("self.key = 'abcdefgh'", 1, "`key`"),
            ("print('sk-proj-abcdefgh12345678')", 1, "`sk-p…`"),
            ("a = b'', 'AKIAABCDEFGHIJKLMNOPQRST'", 1, "`AKIA…`"),
            ("k = '-----BEGIN RSA PRIVATE KEY-----\\nabc'", 1, "the text"),
        ] {
            let (found, name) = secret_in(source).expect(source);
            assert_eq!(found, line, "{source}");
            assert!(name.contains(said), "{source}: {name}");
        }
        for source in [
            "END_TOKEN = '<|im_end|>'",
            "TOKEN = 'short'",
            "KEY = os.environ['MY_KEY']",
            "key = None\nmax_tokens = 512",
            "tokens = 'a sentence with words'",
            "print('sk-ip and hf_ are prefixes')",
            "x = 'def score(prompt, completion, row)'",
            "not python (",
        ] {
            assert_eq!(secret_in(source), None, "{source}");
        }
    }

    #[test]
    fn parts_have_plain_names() {
        assert!(["score", "a", "Length_2"].into_iter().all(is_part_name));
        let odd = ["", "_a", "2a", "a b", "a.b", "<b>", "é", "a\0", "a\u{202e}"];
        assert!(!odd.into_iter().any(is_part_name) && !is_part_name(&"a".repeat(41)));
    }
}
