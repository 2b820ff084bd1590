use super::*;
use crate::fault::Fault;
use crate::prompt::{CODE_TEMPLATES, Template, Variable};

/// The declaration of a possible mathematics recipe.
const CATALOGUE: [Template; 2] = [
    Template {
        name: "solve",
        doc: "Puts a question to the solver.",
        variables: &[Variable::text("question", "1 + 1?"), Variable::text("plan", "Add.")],
    },
    Template {
        name: "critique_plan",
        doc: "Asks for a score of a plan.",
        variables: &[Variable::text("question", "1 + 1?"), Variable::any_records("plans", &[("text", "Add.")])],
    },
];

fn config(style: Style, templates: &[(&str, &str)]) -> PromptConfig {
    let named = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    PromptConfig {
        set: "seedling".to_owned(),
        style: Some(style),
        templates: templates.iter().map(named).collect(),
        ..PromptConfig::default()
    }
}

const WHOLE: [(&str, &str); 2] = [("solve", "{{ question }}"), ("critique_plan", "{{ question }}")];

fn resolved(style: Style, templates: &[(&str, &str)]) -> Result<PromptConfig, Vec<Fault>> {
    let all = [&WHOLE[..], templates].concat();
    config(style, &all).resolve_for("/prompts", &CATALOGUE, |_| true, &|_, _, _| Ok(()))
}

fn refused(templates: &[(&str, &str)]) -> Vec<Fault> {
    resolved(Style::Base, templates).unwrap_err()
}

#[test]
fn a_system_message_comes_first_in_text_and_by_itself_in_a_conversation() {
    let templates =
        [("solve-system", "Follow the plan: {{ plan }}"), ("frame", "[{{ content }}]"), ("chat", "({{ content }})")];
    let variables = context! { question => "2 + 2?", plan => "Add." };
    let render = |style: Style, name: &str| {
        let config = resolved(style, &templates).unwrap();
        PromptSet::compile(&config).unwrap().render(name, variables.clone()).unwrap()
    };
    let text = render(Style::Base, "solve");
    assert_eq!(text.text, "[Follow the plan: Add.\n\n2 + 2?]");
    assert_eq!(text.prompt, Prompt::Text(text.text.clone()));
    let conversation = render(Style::Chat, "solve");
    assert_eq!(conversation.text, "Follow the plan: Add.\n\n(2 + 2?)");
    let messages = [("system", "Follow the plan: Add."), ("user", "(2 + 2?)")]
        .map(|(role, content)| Message { role: role.to_owned(), content: content.to_owned() });
    assert_eq!(conversation.prompt, Prompt::Messages(messages.to_vec()));
    assert_eq!(render(Style::Base, "critique_plan").text, "[2 + 2?]", "without a system message");
}

#[test]
fn a_resolved_config_holds_the_templates_of_its_recipe_alone_and_resolves_to_itself() {
    let once = resolved(Style::Base, &[("solve-system", "Solve.")]).unwrap();
    let names: Vec<&str> = once.templates.keys().map(String::as_str).collect();
    assert_eq!(names, ["critique_plan", "solve", "solve-system"]);
    assert_eq!(once.hashes.len(), 3);
    let twice = once.clone().resolve_for("", &CATALOGUE, |_| true, &|_, _, _| Ok(())).unwrap();
    assert_eq!(twice, once);
}

#[test]
fn every_fault_names_its_template_what_is_valid_and_a_cure() {
    let faults = refused(&[
        ("solve", "{{ qestion }}"),
        ("solve-system", "{% if plan %}{{ goal }}{% endif %}"),
        ("critique_plan", "{% for plan in plans %}{{ plan.txt }}{% endfor %}"),
        ("frame", "User:"),
        ("critique", "{{ question }}"),
    ]);
    let named: Vec<(&str, &str)> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.detail.as_str())).collect();
    for (pointer, words) in [
        ("critique", "critique_plan"),
        ("frame", "{{ content }}"),
        ("solve", "`qestion` is undefined: valid are question, plan"),
        ("solve-system", "`goal` is undefined"),
        ("critique_plan", "undefined"),
    ] {
        let pointer = format!("/prompts/templates/{pointer}");
        assert!(
            named.iter().any(|(at, detail)| *at == pointer && detail.contains(words)),
            "{pointer}: {words} in {named:?}"
        );
    }
    assert_eq!(named.len(), 5, "{named:?}");
}

#[test]
fn all_syntax_errors_are_reported_at_once() {
    let faults = refused(&[("solve", "{{ x"), ("chat", "{% if %}")]);
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/prompts/templates/chat", "/prompts/templates/solve"]);
}

#[test]
fn a_template_that_is_needed_must_be_there_and_others_need_not() {
    let config = || config(Style::Base, &[("solve", "{{ question }}")]);
    let faults = config().resolve_for("", &CATALOGUE, |_| true, &|_, _, _| Ok(())).unwrap_err();
    assert_eq!(faults[0].pointer, "/templates/critique_plan");
    for words in ["`seedling` lacks it", "write it here", "Asks for a score of a plan."] {
        assert!(faults[0].detail.contains(words), "{}", faults[0].detail);
    }
    assert!(config().resolve_for("", &CATALOGUE, |template| template.name == "solve", &|_, _, _| Ok(())).is_ok());
}

#[test]
fn a_template_is_tried_with_lists_that_are_empty() {
    let faults = refused(&[("critique_plan", "{{ question }}{{ plans[0].text }}")]);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].detail.contains("empty"), "{}", faults[0].detail);
    let guarded = "{{ question }}{% if plans %}{{ plans[0].text }}{% endif %}";
    assert!(resolved(Style::Base, &[("critique_plan", guarded)]).is_ok());
}

#[test]
fn variables_that_a_template_sets_itself_are_its_own() {
    let own = "{% set n = 2 %}{% for i in range(n) %}{{ loop.index }}{% endfor %}\
        {% macro twice(text) %}{{ text }}{{ text }}{% endmacro %}{{ twice(question) }}";
    assert!(resolved(Style::Base, &[("solve", own)]).is_ok());
}

#[test]
fn trying_out_the_shipped_templates_takes_a_tenth_of_the_instructions_at_most() {
    for name in ["azr", "seedling"] {
        let set = PromptSet::shipped(name).unwrap();
        for template in CODE_TEMPLATES {
            assert_eq!(set.stretched(&template, &[]), Ok(None));
        }
        let spent = set.spent.load(Ordering::Relaxed);
        assert!((1..TRIAL_INSTRUCTIONS / 10).contains(&spent), "{name}: {spent}");
    }
}

/// A run may have been stored by a release without bounds.
#[test]
fn a_stored_config_beyond_the_bounds_is_an_error_of_its_template() {
    let mut config = resolved(Style::Base, &[]).unwrap();
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let template = format!("{{% if 0 %}}{{{{ {deep} }}}}{{% endif %}}{{{{ question }}}}");
    config.templates.insert("solve".to_owned(), template);
    let error = PromptSet::compile(&config).unwrap_err();
    assert!(error.to_string().starts_with("template `solve`: brackets"), "{error}");
}

#[test]
fn a_template_that_renders_to_nothing_is_refused_whatever_the_frame() {
    let faults = refused(&[("solve", " \n"), ("frame", "User: {{ content }}")]);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].pointer.ends_with("solve") && faults[0].detail.contains("nothing"));
}

#[test]
fn an_example_is_an_earlier_turn_or_text_before_the_prompt() {
    let example = [
        ("solve-system", "Be brief."),
        ("solve-example", "1 + 1?"),
        ("solve-example-answer", "2"),
        ("chat", "({{ content }})"),
    ];
    let render = |style: Style| {
        let config = resolved(style, &example).unwrap();
        PromptSet::compile(&config).unwrap().render("solve", context! { question => "2 + 2?", plan => "" }).unwrap()
    };
    let messages = [("system", "Be brief."), ("user", "(1 + 1?)"), ("assistant", "2"), ("user", "(2 + 2?)")]
        .map(|(role, content)| Message { role: role.to_owned(), content: content.to_owned() });
    assert_eq!(render(Style::Chat).prompt, Prompt::Messages(messages.to_vec()));
    assert_eq!(render(Style::Base).text, "Be brief.\n\n1 + 1?\n\n2\n\n2 + 2?");
}

#[test]
fn an_example_that_is_half_there_or_that_its_reader_cannot_read_is_refused() {
    let half = refused(&[("solve-example", "1 + 1?")]);
    assert_eq!(half[0].pointer, "/prompts/templates/solve-example");
    assert!(half[0].detail.contains("`solve-example-answer`"), "{half:?}");
    let unknown = refused(&[("solve-example", "{{ answer }}"), ("solve-example-answer", "2")]);
    assert!(unknown[0].detail.contains("`answer` is undefined"), "{unknown:?}");
    let templates = [WHOLE[0], WHOLE[1], ("solve-example", "1 + 1?"), ("solve-example-answer", "two")];
    let only_digits = |_: &PromptSet, template: &str, answer: &str| {
        assert_eq!(template, "solve");
        answer.parse::<u32>().map(drop).map_err(|error| error.to_string())
    };
    let faults =
        config(Style::Chat, &templates).resolve_for("/prompts", &CATALOGUE, |_| true, &only_digits).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].pointer, "/prompts/templates/solve-example-answer");
    assert!(faults[0].detail.contains("invalid digit") && faults[0].detail.contains("`solve` asks for"), "{faults:?}");

    // It is read with and without earlier records to show.
    let scarce = "{% if plans %}2{% else %}two{% endif %}";
    let templates = [WHOLE[0], WHOLE[1], ("critique_plan-example", "1 + 1?"), ("critique_plan-example-answer", scarce)];
    let digits = |_: &PromptSet, _: &str, answer: &str| match answer.parse::<u32>() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    let faults = config(Style::Chat, &templates).resolve_for("/prompts", &CATALOGUE, |_| true, &digits).unwrap_err();
    assert_eq!(faults[0].pointer, "/prompts/templates/critique_plan-example-answer");
}
