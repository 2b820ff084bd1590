//! The geometry of members' updates, for the page and the API.

use actix_web::web;
use lyceum_core::id::ExecutionId;
use lyceum_store::geometry::{self, MeasuredPair, MeasuredVersion};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query};
use crate::lab::Lab;

/// The most measured versions that are read, newest first.
const VERSIONS: u32 = 20_000;

/// The geometry of members' updates. It is measured at births.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Geometry {
    /// The step of the pairs; null if nothing was measured yet.
    pub(crate) step: Option<i32>,
    /// The measured versions of all steps, oldest first.
    pub(crate) versions: Vec<MeasuredVersion>,
    /// The pairs that were measured at the end of `step`, each once.
    pub(crate) pairs: Vec<MeasuredPair>,
}

impl Geometry {
    /// Reads it, with the pairs of `step` or else of the newest measured step.
    ///
    /// # Errors
    /// Nothing was measured in `step`.
    pub(crate) async fn read(lab: &Lab, run: ExecutionId, step: Option<u32>) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let versions = geometry::versions(db, run, VERSIONS).await?;
        let mut steps: Vec<i32> = versions.iter().map(|version| version.step).collect();
        steps.dedup();
        let step = match step.map(u32::cast_signed) {
            None => steps.last().copied(),
            Some(step) if steps.contains(&step) => Some(step),
            Some(step) => {
                let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
                let detail = format!("nothing was measured in step {step}; measured were: {}", steps.join(", "));
                return Err(ApiError::invalid_query(vec![("step".to_owned(), detail)]));
            }
        };
        Ok(Self {
            pairs: match step {
                Some(step) => geometry::pairs(db, run, step).await?,
                None => Vec::new(),
            },
            step,
            versions,
        })
    }

    /// The versions that the pairs are of.
    pub(crate) fn measured(&self) -> Vec<&MeasuredVersion> {
        let versions = self.versions.iter();
        versions.filter(|version| Some(version.step) == self.step).collect()
    }

    /// The cosine of each of [`Geometry::measured`] with each; none where they were not measured together, or are zero.
    pub(crate) fn cosines(&self) -> Vec<Vec<Option<f64>>> {
        let pairs = self.pairs.iter().flat_map(|pair| {
            let (one, other) = (pair.first_id, pair.second_id);
            [((one, other), pair.cosine), ((other, one), pair.cosine)]
        });
        let pairs: HashMap<(Uuid, Uuid), Option<f64>> = pairs.collect();
        let measured = self.measured();
        let cosine = |one: &MeasuredVersion, other: &MeasuredVersion| match one.version_id == other.version_id {
            true => (one.norm > 0.0).then_some(1.0),
            false => pairs.get(&(one.version_id, other.version_id)).copied().flatten(),
        };
        let row = |one: &&MeasuredVersion| measured.iter().map(|other| cosine(one, other)).collect();
        measured.iter().map(row).collect()
    }
}

/// Which pairs to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeometryQuery {
    /// Pairs measured at the end of this step; by default those of the newest measured step.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let one = About::new("show_geometry", "/runs/{id}/geometry").says(
        "Show the geometry of members' weights: norms and effective ranks of all measured versions, and the \
                  cosines and distances of those of a step.",
        "The geometry",
    );
    let one = Endpoint::get(one, "runs", show_geometry).id("id", "The run").query::<GeometryQuery>();
    let one = one.answers::<Geometry>();
    vec![one]
}

async fn show_geometry(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<GeometryQuery>,
) -> Result<Answer<Geometry>, ApiError> {
    runs::find(lab.store.pool(), *id).await?;
    Ok(Answer::ok(Geometry::read(&lab, *id, query.0.step).await?))
}
