//! Conditions on columns, as addresses have them: `metrics.solve_rate>=0.5,config.recipe=azr`.

use lyceum_store::runs::{Comparison, Condition, Operand, RunColumn};

use super::column::Column;

/// Conditions of a list, at most.
const CONDITIONS: usize = 8;

/// The longer ones first, since they begin like the others.
const OPERATORS: [(&str, Comparison); 6] = [
    ("!=", Comparison::Unequal),
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("=", Comparison::Equal),
    (">", Comparison::Greater),
    ("<", Comparison::Less),
];

/// The conditions in a list separated by commas.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse_all(text: &str) -> Result<Vec<Condition>, String> {
    let each = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    let conditions: Vec<Condition> = each.map(parse).collect::<Result<_, _>>()?;
    match conditions.len() {
        0..=CONDITIONS => Ok(conditions),
        many => Err(format!(
            "{many} conditions are too many; at most {CONDITIONS} are allowed"
        )),
    }
}

fn parse(text: &str) -> Result<Condition, String> {
    let place = text.find(['!', '>', '<', '=']);
    let found = place.and_then(|place| {
        let (name, rest) = text.split_at(place);
        let operator = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign))?;
        Some((name.trim(), operator.1, rest[operator.0.len()..].trim()))
    });
    let Some((name, comparison, value)) = found else {
        return Err(format!(
            "`{text}` is not a comparison; write it as `metrics.solve_rate>=0.5`, with =, !=, <, <=, > or >="
        ));
    };
    let column = Column::parse(name)?.column;
    let operand = match (value.parse::<f64>(), &column) {
        (Ok(number), _) if number.is_finite() => Operand::Number(number),
        (_, RunColumn::Parameter(_)) if matches!(comparison, Comparison::Equal | Comparison::Unequal) => {
            Operand::Text(value.to_owned())
        }
        _ => return Err(format!("`{text}` compares with `{value}`, which is not a number")),
    };
    Ok(Condition {
        column,
        comparison,
        operand,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_with_their_operator() {
        let read = parse_all("metrics.solve_rate>=0.5, config.recipe!=azr,benchmarks.gsm8k<1,config.seed=7").unwrap();
        let read: Vec<(Comparison, Operand)> = read.into_iter().map(|one| (one.comparison, one.operand)).collect();
        assert_eq!(
            read,
            [
                (Comparison::AtLeast, Operand::Number(0.5)),
                (Comparison::Unequal, Operand::Text("azr".to_owned())),
                (Comparison::Less, Operand::Number(1.0)),
                (Comparison::Equal, Operand::Number(7.0)),
            ]
        );
        for (wrong, said) in [
            ("metrics.solve_rate", "is not a comparison"),
            ("metrics.solve_rate!0.5", "is not a comparison"),
            ("metrics.solve_rate=high", "is not a number"),
            ("metrics.solve_rate>NaN", "is not a number"),
            ("config.recipe>azr", "is not a number"),
            ("solve_rate=1", "is not a column"),
        ] {
            let fault = parse_all(wrong).unwrap_err();
            assert!(fault.contains(said), "{wrong}: {fault}");
        }
        assert!(
            parse_all(&["metrics.a=1"; 9].join(","))
                .unwrap_err()
                .contains("at most 8")
        );
    }
}
