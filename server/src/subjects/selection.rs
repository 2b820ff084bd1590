//! What selection did in a run, for the page and the API.

use actix_web::web;
use lyceum_core::evolution::audit::{AUDITED, Cull, Life, Measured, Past, audit, differential};
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::rating::TrueSkillConfig;
use lyceum_core::recipe::{Role, populora};
use lyceum_store::benchmarks::{self, Answered};
use lyceum_store::runs::{self, RunDetail};
use lyceum_store::{matchups, members};
use serde::{Deserialize as _, Serialize};
use std::collections::{BTreeMap, HashMap};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint};
use crate::lab::Lab;
use crate::subjects::run::measured_way;

/// The most members and matchups that are read; an audit ends with the last step that they cover.
const MEMBERS: u32 = 20_000;
const MATCHUPS: u32 = 200_000;

/// What selection did in a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Selection {
    /// The run's `matchup_score`: `per_role`, `reward` or `solve_rate`.
    #[schema(example = "per_role")]
    pub(crate) matchup_score: &'static str,
    /// The run's `evolution.culling`: `rating` or `random`.
    #[schema(example = "rating")]
    pub(crate) culling: &'static str,
    /// How selection compares with a uniform draw; absent without a cull whose candidates were all measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) differential: Option<Differential>,
    /// The culls, in order.
    pub(crate) items: Vec<AuditedCull>,
}

/// How selection compares with a uniform draw.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Differential {
    /// The mean held-out accuracy of the candidates less that of the culled: above 0 if the weaker were culled. A uniform
    /// draw gives 0 on average.
    pub(crate) mean: f64,
    /// 95 % of uniform draws from the same candidates are within this of 0, by the normal approximation.
    pub(crate) neutral: f64,
    /// Number of culled members that it is about.
    pub(crate) culled: usize,
}

/// The members of a role that were culled at the end of a step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditedCull {
    /// The step.
    pub(crate) step: u32,
    /// The role.
    #[schema(value_type = String, example = "student")]
    pub(crate) role: Role,
    /// Who was culled.
    pub(crate) culled: Vec<Uuid>,
    /// The role's members that were not protected, the lowest lower bound first.
    pub(crate) candidates: Vec<Candidate>,
    /// Number of finished steps when the candidates were measured; absent if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<u32>,
    /// Whom the rules of `matchup_score` would have culled after the same matchups.
    pub(crate) verdicts: BTreeMap<&'static str, Vec<Uuid>>,
}

/// A member that could have been culled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Candidate {
    /// The member.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// Mean of its rating by the run's rule.
    pub(crate) mu: f64,
    /// Standard deviation of that rating.
    pub(crate) sigma: f64,
    /// The lower bound that members are ranked by.
    pub(crate) lower_bound: f64,
    /// Its accuracy on held-out rows when the candidates were measured; absent if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) accuracy: Option<f64>,
    /// Its rank by accuracy among the candidates that were measured, 1 for the best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rank: Option<usize>,
}

impl Selection {
    /// Reads it; `None` if the run's recipe does not evolve a population.
    pub(crate) async fn read(lab: &Lab, run: &RunDetail) -> Result<Option<Self>, ApiError> {
        let (db, id) = (lab.store.pool(), ExecutionId(run.run.id));
        let parameters = match run.run.recipe == "populora" {
            true => populora::Parameters::deserialize(&run.config["parameters"]).ok(),
            false => None,
        };
        let Some(parameters) = parameters else { return Ok(None) };
        let members = members::family(db, id, None, MEMBERS).await?;
        let names: HashMap<Uuid, String> = members.iter().map(|member| (member.id, member.name.clone())).collect();
        let life = |member: members::Relative| Life {
            member: MemberId(member.id),
            roles: member.roles,
            born: member.born_step.cast_unsigned(),
            parents: member.parents.0.iter().map(|parent| MemberId(parent.member_id)).collect(),
            died: member.died_step.map(i32::cast_unsigned),
        };
        let ways = benchmarks::measurements(db, id).await?;
        let answered = match measured_way(&ways) {
            Some((way, _)) => benchmarks::answered(db, id, way, &way.steps).await?,
            None => Vec::new(),
        };
        let past = Past {
            lives: members.into_iter().map(life).collect(),
            matchups: matchups::played(db, id, MATCHUPS).await?,
            measured: answered.iter().filter_map(measured).collect(),
        };
        let culls = audit(&past, parameters.matchup_score, &parameters.evolution, &parameters.rating);
        Ok(Some(Self {
            matchup_score: parameters.matchup_score.into(),
            culling: parameters.evolution.culling.into(),
            differential: differential(&culls).map(|found| Differential {
                mean: found.mean,
                neutral: found.neutral,
                culled: found.culled,
            }),
            items: culls.into_iter().map(|cull| AuditedCull::of(cull, &names, &parameters.rating)).collect(),
        }))
    }
}

impl Selection {
    /// The newest culls, for a table.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &AuditedCull> {
        self.items.iter().rev().take(50)
    }
}

fn measured(answered: &Answered) -> Option<Measured> {
    let samples: i32 = answered.samples.iter().sum();
    let correct: i32 = answered.correct.iter().sum();
    Some(Measured {
        step: answered.step?.cast_unsigned(),
        member: MemberId(answered.member_id?),
        accuracy: (samples > 0).then(|| f64::from(correct) / f64::from(samples))?,
    })
}

impl AuditedCull {
    fn of(cull: Cull, names: &HashMap<Uuid, String>, ratings: &TrueSkillConfig) -> Self {
        let candidate = |one: lyceum_core::evolution::audit::Candidate| Candidate {
            id: one.member.0,
            name: names.get(&one.member.0).cloned().unwrap_or_default(),
            mu: one.rating.mu,
            sigma: one.rating.sigma,
            lower_bound: ratings.lower_bound(one.rating),
            accuracy: one.accuracy,
            rank: one.rank,
        };
        let ids = |members: Vec<MemberId>| members.into_iter().map(|member| member.0).collect();
        Self {
            step: cull.step,
            role: cull.role,
            culled: ids(cull.culled),
            candidates: cull.candidates.into_iter().map(candidate).collect(),
            measured: cull.measured,
            verdicts: AUDITED.into_iter().map(Into::into).zip(cull.verdicts.map(ids)).collect(),
        }
    }

    pub(crate) fn candidate(&self, id: &Uuid) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.id == *id)
    }

    /// The rules that would have culled a member that was kept, with the members' names.
    pub(crate) fn others(&self) -> Vec<(&'static str, Vec<&str>)> {
        let kept = |ids: &Vec<Uuid>| -> Vec<&str> {
            let kept = ids.iter().filter(|id| !self.culled.contains(id));
            kept.filter_map(|id| Some(self.candidate(id)?.name.as_str())).collect()
        };
        let verdicts = self.verdicts.iter().map(|(rule, ids)| (*rule, kept(ids)));
        verdicts.filter(|(_, names)| !names.is_empty()).collect()
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let one = About::new("show_selection", "/runs/{id}/selection").says(
        "Show what selection did in a run: each cull beside what other rules would have culled, and beside a \
                  uniform draw.",
        "The culls; `null` if the run's recipe does not evolve a population",
    );
    let one = Endpoint::get(one, "runs", show_selection).id("id", "The run").answers_or_null::<Selection>();
    vec![one]
}

async fn show_selection(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<Option<Selection>>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    Ok(Answer::ok(Selection::read(&lab, &run).await?))
}
