use super::*;
use crate::prompt::{Grammar, PromptConfig, PromptSet, Style, Template, Variable};
use minijinja::context;
use proptest::prelude::*;

const SOLVE: Template = Template {
    name: "solve",
    doc: "Puts a question to the solver.",
    variables: &[Variable::text("question", "1 + 1?")],
};

/// A fourth of the stack of a thread that plans.
const STACK: usize = 512 << 10;

/// The outcome of `work` on a small stack. An overflow would end the test's process.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.unwrap().join().unwrap()
    })
}

/// The prompt that a run with `template` shows, or the fault that it is refused with.
fn prompt(template: &str) -> Result<String, String> {
    on_a_small_stack(|| {
        let config = PromptConfig {
            set: "seedling-math".to_owned(),
            style: Some(Style::Base),
            grammar: Some(Grammar::Tagged),
            templates: [("solve".to_owned(), template.to_owned())].into(),
            ..PromptConfig::default()
        };
        let config = config
            .resolve_for("/prompts", &[SOLVE], |_| true, &|_, _, _| Ok(()))
            .map_err(|faults| faults[0].to_string())?;
        let set = PromptSet::compile(&config).map_err(|error| error.to_string())?;
        let measured = set.stretched(&SOLVE, &[]).map_err(|error| error.to_string());
        measured?;
        let rendered = set.render("solve", context! { question => "2 + 2?" });
        Ok(rendered.map_err(|error| error.to_string())?.text)
    })
}

fn refused(template: &str) -> String {
    prompt(template).unwrap_err()
}

#[test]
fn chains_that_would_overflow_the_stack_are_refused_with_their_place() {
    let times = |text: &str| text.repeat(8_000);
    let chains = [
        format!("{{{{ {}question }}}}", times("not ")),
        format!("{{{{ {}1 }}}}", times("-")),
        format!("{{{{ 1{} }}}}", times(" - 1")),
        format!("{{{{ 1{} }}}}", times(" + 1")),
        format!("{{{{ 1{} }}}}", times("**1")),
        format!("{{{{ 1{} }}}}", times("~1")),
        format!("{{{{ 1{} }}}}", times(" and 1")),
        format!("{{{{ 1{} }}}}", times(" or 1")),
        format!("{{{{ 1{} }}}}", times(" is true")),
        format!("{{{{ 1{} }}}}", times("|abs")),
        format!("{{{{ question{} }}}}", times(".a")),
        format!("{{{{ question{} }}}}", times("[0]")),
        format!("{{{{ question{} }}}}", times("()")),
        format!("{{{{ {}1 }}}}", "1 if 1 else ".repeat(5_000)),
        format!("{{{{ {} }}}}", times("[")),
        format!("{{{{ {} }}}}", times("(")),
        format!("{{{{ {} }}}}", times("{1:")),
        format!("{{% if 0 %}}{{{{ {}1{} }}}}{{% endif %}}", times("["), times("]")),
        times("{%if 1%}"),
        format!("{{% if 0 %}}{}{{% endif %}}", "{%elif 1%}".repeat(6_000)),
        "{%for a in b%}".repeat(4_000),
        times("{%with%}"),
        "{%set a%}".repeat(7_000),
    ];
    for template in chains {
        let fault = refused(&template);
        assert!(fault.starts_with("/prompts/templates/solve: "), "{fault}");
        assert!(fault.contains("(line 1)"), "{fault}");
        assert!(fault.len() < 600, "{fault}");
    }
    let long = refused(&"x".repeat(MAX_BYTES + 1));
    assert!(long.contains("65537 bytes: at most 65536"), "{long}");
}

#[test]
fn a_template_as_deep_as_is_valid_is_rendered() {
    let brackets = format!("{}question{}", "[".repeat(MAX_BRACKETS), "]".repeat(MAX_BRACKETS));
    let nots = format!("{}question", "not ".repeat(MAX_TOKENS - 1));
    let minus = format!("{}1", "-".repeat(MAX_TOKENS - 1));
    let ifs = "{% if question %}".repeat(MAX_BLOCKS);
    let ends = "{% endif %}".repeat(MAX_BLOCKS);
    let fors = "{% for a in [1] %}".repeat(MAX_BLOCKS);
    let fors_end = "{% endfor %}".repeat(MAX_BLOCKS);
    let elifs = "{% elif 0 %}".repeat(MAX_BLOCKS - 1);
    for template in [
        format!("{ifs}{{{{ {brackets} }}}}{ends}"),
        format!("{ifs}{{{{ {nots} }}}}{ends}"),
        format!("{fors}{{{{ {minus} }}}}{fors_end}"),
        format!("{{% if 0 %}}{elifs}{{% else %}}.{{% endif %}}"),
    ] {
        assert!(prompt(&template).is_ok(), "{:?}", prompt(&template));
    }
}

#[test]
fn values_that_grow_or_nest_without_end_are_refused() {
    let doubled = "{% set a = question %}".to_owned() + &"{% set a = a ~ a %}".repeat(30);
    assert!(refused(&doubled).contains("64 copies of a value"), "{}", refused(&doubled));
    let listed = "{% set a = question %}".to_owned() + &"{% set a = [a, a] %}".repeat(30);
    assert!(refused(&listed).contains("copies"));
    let sliced = "{% set a = question %}".to_owned() + &"{% set a = a[:] ~ a[:] %}".repeat(30);
    assert!(refused(&sliced).contains("copies"));
    let nested = "{% set a = question %}".to_owned() + &"{% set a = [a] %}".repeat(100) + "{{ a }}";
    assert!(refused(&nested).contains("deep"));
    let called =
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ question }}".to_owned() + &"{{ m(question ~ question) }}".repeat(30);
    assert!(refused(&called).contains("copies"));
    for (template, words) in [
        ("{% macro m(a) %}{{ m(a ~ a) }}{% endmacro %}{{ m(question) }}", "a macro calls another"),
        ("{% macro m(a=n()) %}{% endmacro %}{{ question }}", "a macro calls another"),
        ("{% for i in [1] %}{% macro m() %}{% endmacro %}{% endfor %}", "at the top"),
        ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "recursive"),
        ("{% include 'solve' %}", "`include` is not available"),
        ("{% extends 'solve' %}", "`extends`"),
        ("{% block a %}{% endblock %}", "`block`"),
        ("{{ question * 100000000 }}", "`*`"),
        ("{{ range(10)|slice(100000000) }}", "there is no filter `slice`"),
        ("{{ range(10)|batch(100000000) }}", "there is no filter `batch`"),
        ("{{ range(10)|map('slice', 100000000)|list }}", "unknown filter"),
        ("{% set ns = namespace() %}{{ question }}", "namespace"),
    ] {
        assert!(refused(template).contains(words), "{}", refused(template));
    }
    let quoted = format!("{{{{ '{}' }}}}", "x".repeat(MAX_QUOTED + 1));
    assert!(refused(&quoted).contains("1001 bytes of quoted text"));
}

#[test]
fn a_rendering_has_a_budget_of_bytes() {
    for template in [
        "{{ question|indent(1000000000) }}",
        "{{ question|indent(width=1000000000) }}",
        "{{ range(9999)|join('x'|indent(999, true)) }}",
        "{{ range(9999)|join(d='x'|indent(999, true)) }}",
        "{{ range(9999)|join('.')|replace('.', 'x'|indent(999, true)) }}",
        "{% for i in range(9999) %}{{ range(999)|list|length }}{% endfor %}",
        "{% for i in range(9999) %}{{ '1234567890'|indent(199, true) }}{% endfor %}",
        "{% macro m() %}{% for i in range(9999) %}{{ 'x'|indent(199, true) }}{% endfor %}{% endmacro %}{{ m() }}",
        "{% set a %}{% for i in range(9999) %}{{ 'x'|indent(199, true) }}{% endfor %}{% endset %}{{ a }}",
    ] {
        let fault = refused(template);
        assert!(fault.contains("more than 1048576 bytes"), "{template}: {fault}");
    }
    assert!(refused("{{ range(1000000000) }}").contains("more than 10000 numbers"));
}

/// Plain text is written without a filter or a formatter, so the instructions have to bound it.
#[test]
fn plain_text_in_a_loop_is_bounded_by_the_instructions() {
    let plain = "x".repeat(60_000);
    for template in [
        format!("{{% for i in range(9999) %}}{plain}{{% endfor %}}"),
        format!("{{% set a %}}{{% for i in range(9999) %}}{plain}{{% endfor %}}{{% endset %}}{{{{ a }}}}"),
    ] {
        assert!(refused(&template).contains("out of fuel"), "{:.200}", refused(&template));
    }
    assert!(prompt(&plain).is_ok());
}

#[test]
fn templates_for_people_stay_valid() {
    for template in [
        "{% set both = question ~ ' and ' ~ question %}{{ both|upper }}",
        "{% macro twice(text) %}{{ text }}{{ text }}{% endmacro %}{{ twice(question) }}",
        "{% for line in question|lines %}{{ loop.index + 1 }}. {{ line|trim }}{% if not loop.last %}, {% endif %}{% endfor %}",
        "{% for item in ['a', 'b', 'c'] %}{{ item }}{% else %}none{% endfor %}{{ question[:3] }}",
        "{{ question|default('nothing')|replace('1', 'one')|indent(4) }}",
        "{% if question is defined and question|length > 2 %}{{ question }}{% elif question is in ['a'] %}a{% else %}b{% endif %}",
        "{% raw %}{{ kept }}{% endraw %}{# a note #}{{ question }}",
        "{% filter upper %}{{ question }}{% endfilter %}",
    ] {
        assert!(prompt(template).is_ok(), "{template}: {:?}", prompt(template));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever a template is made of, it is refused or rendered, on a small stack and within its budget.
    #[test]
    fn any_template_is_refused_or_rendered(parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)) {
        if let Ok(text) = prompt(&parts.concat()) {
            prop_assert!(text.len() < MAX_PLAIN);
        }
    }
}

const PARTS: &[&str] = &[
    "{{ question }}",
    "{{ a }}",
    "{% set a = question %}",
    "{% set a = a ~ a %}",
    "{% set a = [a, a] %}",
    "{% set a %}",
    "{% endset %}",
    "{% if question %}",
    "{% elif 1 %}",
    "{% else %}",
    "{% endif %}",
    "{% for i in range(999) %}",
    "{% for a in [a] %}",
    "{% for a in a %}",
    "{% endfor %}",
    "{% macro m(a) %}",
    "{% endmacro %}",
    "{{ m(a) }}",
    "{{ m(question ~ question) }}",
    "{% with a = a + a %}",
    "{% endwith %}",
    "{{ a|list }}",
    "{{ a|join(a) }}",
    "text ",
    "{{ a|replace('', a) }}",
    "{{ [[[question]]] }}",
    "{{ not -1 }}",
    "{{ (1, 2)|map('upper')|list }}",
    "{{ ",
    " }}",
    "{%",
    "%}",
];
