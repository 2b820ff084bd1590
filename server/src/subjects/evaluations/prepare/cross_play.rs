//! Cross-play evaluations: resolves a run and a step to exact problems and weights.

use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::{CrossPlaySpec, Pairing};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_core::recipe::{Contestant, CrossPlayCell, CrossPlayParameters, Recipe, Side};
use lyceum_store::cross_play::{self, CrossPlayFilter};
use lyceum_store::versions::weights::{self, Weights};
use lyceum_store::{Store, StoreError, runs};
use sqlx::PgPool;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{Request, Unprepared, fault};

/// Maximum attempts of an evaluation; its plan is made in memory.
const ATTEMPTS: u64 = 200_000;

/// The config of a cross-play evaluation, with everything in its spec looked up; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &CrossPlaySpec) -> Result<RunConfig, Unprepared> {
    let Request { store, registry, .. } = *request;
    let CrossPlaySpec { run, step, problems, samples, cells } = spec;
    let detail = runs::find(store.pool(), *run).await?;
    let of_run: RunConfig =
        serde_json::from_value(detail.config).map_err(|error| fault("/spec/run", error.to_string()))?;
    let crosses = |recipe: &Arc<dyn Recipe>| recipe.capabilities().crosses;
    if !registry.get(&of_run.recipe).is_ok_and(crosses) {
        let valid = registry.recipes().filter(|recipe| crosses(recipe)).map(|recipe| recipe.name());
        let valid = valid.collect::<Vec<_>>().join(", ");
        let detail = format!(
            "run {run} is of recipe `{}`, whose solvers cannot attempt every proposer's problems; it can be a run of {valid}",
            of_run.recipe
        );
        return Err(fault("/spec/run", detail));
    }
    let members = members(store, *run, *step, cells).await?;
    let pairs = pairs(store.pool(), *run, *step, cells, &members).await?;
    let posed = cross_play::problems_to_play(store.pool(), *run, &teachers_of(&pairs), *step, *problems).await?;
    let mut by_teacher: BTreeMap<MemberId, Vec<ProblemId>> = BTreeMap::new();
    for (teacher, problem) in posed {
        by_teacher.entry(teacher).or_default().push(problem);
    }
    let mut students: Vec<Contestant> = Vec::new();
    let mut filled = Vec::new();
    for pair in &pairs {
        let (Some(problems), Some(teacher), Some(student)) =
            (by_teacher.get(&pair.teacher), members.get(&pair.teacher), members.get(&pair.student))
        else {
            continue;
        };
        let known = students.iter().position(|known| known.member == student.member);
        let place = known.unwrap_or_else(|| {
            students.push(Contestant { member: student.member, name: student.name.clone(), adapter: student.adapter });
            students.len() - 1
        });
        filled.push(CrossPlayCell {
            teacher: pair.teacher,
            name: teacher.name.clone(),
            student: u32::try_from(place).unwrap_or(u32::MAX),
            problems: problems.clone(),
        });
    }
    if filled.is_empty() {
        let detail =
            format!("no proposer of the {} missing pairs has a valid problem from before step {step}", pairs.len());
        return Err(fault("/spec", detail));
    }
    let attempts: u64 = filled.iter().map(|cell| cell.problems.len() as u64 * u64::from(*samples)).sum();
    if attempts > ATTEMPTS {
        let detail = format!("{attempts} attempts in {} cells: at most {ATTEMPTS} are planned at once", filled.len());
        return Err(fault("/spec/problems", detail));
    }
    let parameters = CrossPlayParameters {
        run: *run,
        step: *step,
        samples: *samples,
        students,
        cells: filled,
        play: of_run.parameters.clone(),
    };
    let mut config = RunConfig {
        recipe: request.planner.name().to_owned(),
        seed: request.seed,
        steps: 1,
        parameters: serde_json::to_value(parameters).map_err(|error| fault("/spec", error.to_string()))?,
        benchmarks: None,
        ..of_run
    };
    config.scheduling.priority = request.priority;
    Ok(request.planner.resolve(config)?)
}

fn teachers_of(pairs: &[Pairing]) -> Vec<MemberId> {
    let mut teachers: Vec<MemberId> = pairs.iter().map(|pair| pair.teacher).collect();
    teachers.sort_unstable();
    teachers.dedup();
    teachers
}

/// The members of the cells, or all members alive at the step if there are no cells, with their weights of that step.
async fn members(
    store: &Store,
    run: ExecutionId,
    step: u32,
    cells: &[Pairing],
) -> Result<BTreeMap<MemberId, Weights>, Unprepared> {
    let mut db = store.pool().acquire().await.map_err(StoreError::from)?;
    let weights = match cells {
        [] => weights::of_run(&mut db, run, Some(step)).await?,
        cells => {
            let named: Vec<MemberId> = cells.iter().flat_map(|cell| [cell.teacher, cell.student]).collect();
            weights::of_members(&mut db, run, step, &named).await?
        }
    };
    Ok(weights.into_iter().map(|weights| (weights.member, weights)).collect())
}

/// The pairs to evaluate.
async fn pairs(
    db: &PgPool,
    run: ExecutionId,
    step: u32,
    cells: &[Pairing],
    members: &BTreeMap<MemberId, Weights>,
) -> Result<Vec<Pairing>, Unprepared> {
    let plays = |weights: &Weights, side: Side| weights.roles.iter().any(|role| role.side() == side);
    if !cells.is_empty() {
        let mut faults = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            for (field, member, side) in
                [("teacher", cell.teacher, Side::Proposes), ("student", cell.student, Side::Solves)]
            {
                let place = format!("/spec/cells/{at}/{field}");
                match members.get(&member) {
                    None => {
                        let detail = format!("run {run} has no member {member} with weights from before step {step}");
                        faults.push(Fault::new(place, detail));
                    }
                    Some(weights) if !plays(weights, side) => {
                        let detail = format!(
                            "{} plays {}, which is not a role for {} problems",
                            weights.name,
                            weights.roles.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
                            side.name()
                        );
                        faults.push(Fault::new(place, detail));
                    }
                    Some(_) => {}
                }
            }
        }
        return Ok(Faults(faults).or(cells.to_vec())?);
    }
    if members.is_empty() {
        return Err(fault("/spec/step", format!("run {run} had no members after {step} steps")));
    }
    let before = CrossPlayFilter { to: Some(step.saturating_sub(1)), evaluations: true, ..CrossPlayFilter::default() };
    let met = cross_play::pairs(db, run, &before).await?;
    let met: HashSet<(MemberId, MemberId)> =
        met.iter().map(|pair| (MemberId(pair.teacher_id), MemberId(pair.student_id))).collect();
    let on_side = |side| members.values().filter(move |weights| plays(weights, side));
    let all = on_side(Side::Proposes).flat_map(|teacher| {
        on_side(Side::Solves).map(move |student| Pairing { teacher: teacher.member, student: student.member })
    });
    let missing: Vec<Pairing> =
        all.filter(|pair| pair.teacher != pair.student && !met.contains(&(pair.teacher, pair.student))).collect();
    match missing.is_empty() {
        true => Err(fault("/spec", format!("all pairs of members alive after {step} steps have already met"))),
        false => Ok(missing),
    }
}
