use super::*;
use crate::prompt::{CODE_TEMPLATES, PromptConfig, Sample, Variable};
use minijinja::{Value, context};
use proptest::prelude::*;

const TEMPLATE: Template = Template {
    name: "show",
    doc: "Shows a program and pairs.",
    variables: &[
        Variable::text("program", "p"),
        Variable::any_records("pairs", &[("input", "i"), ("output", "o")]),
        Variable::number("count", 2),
    ],
};

fn set(template: &str) -> PromptSet {
    let config = PromptConfig {
        set: "seedling".to_owned(),
        templates: [("show".to_owned(), template.to_owned())].into(),
        ..PromptConfig::default()
    };
    PromptSet::compile(&config.resolve_for("", &[TEMPLATE], |_| true, &|_, _, _| Ok(())).unwrap()).unwrap()
}

fn shown(prompts: &PromptSet, program: usize, records: usize, text: usize) -> usize {
    let letters = |count: usize| "x".repeat(count);
    let pair = context! { input => letters(text), output => letters(text) };
    let variables = context! { program => letters(program), pairs => vec![pair; records], count => 2 };
    prompts.render("show", variables).unwrap().text.len()
}

fn bound(size: &Size, program: usize, records: usize, text: usize) -> usize {
    let texts = records * text;
    size.bound(&[("program", program), ("pairs", records), ("pairs.input", texts), ("pairs.output", texts)])
}

#[test]
fn each_variable_has_its_own_growth() {
    let prompts =
        set("{{ program }}{{ program }}:{% for p in pairs %}[{{ p.input }}|{{ p.input }}|{{ p.output }}]{% endfor %}");
    let size = prompts.measure(&TEMPLATE, &[]).unwrap();
    assert_eq!(size.base(), 1);
    let growth = ["program", "pairs", "pairs.input", "pairs.output", "count"].map(|name| size.growth(name));
    assert_eq!(growth, [Some(2), Some(4), Some(2), Some(1), None]);
    assert_eq!(bound(&size, 10, 3, 5), shown(&prompts, 10, 3, 5));
}

#[test]
fn numbers_are_those_of_the_run() {
    let prompts = set("{% for i in range(count) %}####{% endfor %}");
    assert_eq!(prompts.measure(&TEMPLATE, &[]).unwrap().base(), 8);
    assert_eq!(prompts.measure(&TEMPLATE, &[("count", 50)]).unwrap().base(), 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_bound_holds_for_any_amounts(
        parts in proptest::collection::vec(prop_oneof![
            Just("{{ program }}"),
            Just("{% if program %}There is a program.{% endif %}"),
            Just("{% if not program %}There is no program at all here.{% endif %}"),
            Just("{% if pairs %}Pairs:{% endif %}"),
            Just("{% for p in pairs %}{{ loop.index }}. {{ p.input }}{% endfor %}"),
            Just("{% for p in pairs %}{% if p.output %}({{ p.output }}){% else %}nothing{% endif %}{% endfor %}"),
            Just("some words"),
        ], 1..6),
        amounts in proptest::collection::vec((0_usize..300, 0_usize..99, 0_usize..300), 1..6),
    ) {
        let prompts = set(&format!(".{}", parts.concat()));
        let size = prompts.measure(&TEMPLATE, &[]).unwrap();
        for (program, records, text) in amounts {
            prop_assert!(shown(&prompts, program, records, text) <= bound(&size, program, records, text));
        }
    }
}

#[test]
fn filters_that_write_letters_longer_are_found_with_the_text_they_change() {
    for (template, found) in [
        ("{{ program }}", None),
        ("{{ program|escape }}", Some("program")),
        ("{% for p in pairs %}{{ p.output|indent(4) }}{% endfor %}.", Some("pairs.output")),
    ] {
        let stretched = set(template).stretched(&TEMPLATE, &[]).unwrap();
        assert_eq!(stretched.as_deref(), found, "{template}");
    }
}

/// The slack is a second digit wherever a record is numbered.
#[test]
fn the_bound_of_the_shipped_templates_is_tight() {
    for name in ["seedling", "azr"] {
        let prompts = PromptSet::shipped(name).unwrap();
        for template in CODE_TEMPLATES {
            let size = prompts.measure(&template, &[("num_inputs", 6)]).unwrap();
            assert_eq!(prompts.stretched(&template, &[("num_inputs", 6)]), Ok(None));
            let mut amounts: Vec<(String, usize)> = Vec::new();
            let values = template.variables.iter().map(|variable| {
                let text = |count: usize| Value::from("1".repeat(count));
                let value = match variable.sample {
                    Sample::Text(_) => {
                        amounts.push((variable.name.to_owned(), 70));
                        text(70)
                    }
                    Sample::Number(_) => Value::from(6),
                    Sample::Records { fields, .. } => {
                        amounts.push((variable.name.to_owned(), 3));
                        amounts.extend(fields.iter().map(|(field, _)| (format!("{}.{field}", variable.name), 3 * 20)));
                        let record: BTreeMap<&str, Value> =
                            fields.iter().map(|(field, _)| (*field, text(20))).collect();
                        Value::from(vec![Value::from(record); 3])
                    }
                };
                (variable.name, value)
            });
            let values: BTreeMap<&str, Value> = values.collect();
            let real = prompts.render(template.name, values).unwrap().text.len();
            let amounts: Vec<(&str, usize)> = amounts.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
            let bound = size.bound(&amounts);
            let second_digits = 4 * 3;
            assert!((real..=real + second_digits).contains(&bound), "{name}/{}: {real} and {bound}", template.name);
        }
    }
}
