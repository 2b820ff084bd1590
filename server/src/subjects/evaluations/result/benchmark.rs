//! The page of a benchmark evaluation: its results and all samples.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::benchmark::{Cell, Generalization, GeneralizationRow, Group, Subject, suite};
use lyceum_core::evaluation::EvaluationSpec;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_store::benchmarks::{self, BenchmarkFilter, BenchmarkResult, BenchmarkSample, SampleFilter};
use lyceum_store::datasets;
use lyceum_store::page::{self, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::EvaluationFrame;
use crate::api_error::ApiError;
use crate::contract::{Listing, Order};
use crate::frame::figure::Figure;
use crate::frame::format;
use crate::frame::layout::Layout;
use crate::frame::text::{Excerpt, SHOWN, SHOWN_IN_LIST, excerpt, inert};
use crate::frame::view::{Pager, View};
use crate::subjects::benchmarks::curves;

/// Maximum results shown (subjects × suites). The API lists all.
const RESULTS: u32 = 500;
/// Samples per page.
const SAMPLES: u32 = 20;

/// Filters of samples.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplesFilter {
    /// On this suite.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// Of the subject with this index, from 0.
    #[schemars(range(max = 2_147_483_647))]
    subject: Option<u32>,
    /// Of this task.
    #[schemars(length(max = 500))]
    task: Option<String>,
    /// `true` for correct samples, `false` for wrong ones.
    correct: Option<bool>,
    cursor: Option<String>,
    order: Option<Order>,
}

/// A sample with its task.
#[derive(Clone, Debug, Serialize)]
struct SampleLine {
    #[serde(flatten)]
    sample: BenchmarkSample,
    /// Its row's question; none if the rows have been deleted.
    question: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "evaluations/benchmark.html")]
struct BenchmarkPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    results: Vec<BenchmarkResult>,
    /// The scores in and out of distribution, if the evaluation says which suites are which.
    generalization: Option<Generalization>,
    items: Vec<SampleLine>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    asked: SamplesFilter,
    #[serde(skip)]
    more_results: bool,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl BenchmarkPage {
    fn is_filtered(&self) -> bool {
        let asked = &self.asked;
        asked.suite.is_some() || asked.subject.is_some() || asked.task.is_some() || asked.correct.is_some()
    }

    /// How the answers of a result were drawn.
    fn sampling(&self, result: &BenchmarkResult) -> String {
        match result.protocol["temperature"].as_f64() {
            Some(0.0) => "greedy".to_owned(),
            Some(temperature) => format!("n = {}, T = {temperature}", result.n),
            None => format!("n = {}", result.n),
        }
    }

    /// Whether answers to a suite are read by several rules.
    fn has_other_rules(&self) -> bool {
        self.results.iter().any(|result| result.other_rules.is_some())
    }

    /// Suites with many answers that were cut, each with its largest share of them.
    fn cut(&self) -> Vec<String> {
        let mut largest: BTreeMap<&str, (f64, &serde_json::Value)> = BTreeMap::new();
        for result in &self.results {
            let Some(share) = result.many_cut() else { continue };
            let found = largest.entry(&result.suite).or_insert((share, &result.protocol["max_tokens"]));
            found.0 = found.0.max(share);
        }
        let said = |(suite, (share, limit)): (&str, (f64, &serde_json::Value))| {
            format!("{} (up to {} % at {limit} tokens)", format::suite_title(suite), format::share(&share))
        };
        largest.into_iter().map(said).collect()
    }

    /// Names and titles of its suites, and whether each was chosen.
    fn suites(&self) -> Vec<(String, String, bool)> {
        let names: BTreeSet<&str> = self.results.iter().map(|result| result.suite.as_str()).collect();
        let choice = |name: &str| {
            (name.to_owned(), format::suite_title(name).to_owned(), self.asked.suite.as_deref() == Some(name))
        };
        names.into_iter().map(choice).collect()
    }

    /// Indices and names of its subjects, and whether each was chosen.
    fn subjects(&self) -> Vec<(usize, String, bool)> {
        let choice = |(place, name): (usize, &String)| {
            (place, inert(name), self.asked.subject.is_some_and(|asked| asked as usize == place))
        };
        self.frame.line.subjects.iter().enumerate().map(choice).collect()
    }

    fn subject_of(&self, sample: &SampleLine) -> String {
        let place = usize::try_from(sample.sample.subject).unwrap_or_default();
        let name = self.frame.line.subjects.get(place);
        name.map_or_else(|| format!("subject {place}"), |name| inert(name))
    }

    fn question_of(&self, sample: &SampleLine) -> Option<Excerpt> {
        sample.question.as_deref().map(|question| excerpt(question, SHOWN))
    }

    fn text_of(&self, sample: &SampleLine) -> Excerpt {
        excerpt(&sample.sample.text, SHOWN)
    }

    fn reason_of(&self, sample: &SampleLine) -> Excerpt {
        excerpt(&sample.sample.reason, SHOWN_IN_LIST)
    }

    fn solution_of(&self, sample: &SampleLine) -> Option<Excerpt> {
        let solution = sample.sample.solution.as_deref();
        solution.map(|solution| excerpt(solution, SHOWN))
    }

    /// A subject's score on a suite; empty if there is none.
    fn score_on(&self, row: &GeneralizationRow, suite: &str) -> String {
        let cell = row.scores.get(suite);
        cell.map_or_else(String::new, |cell| crate::frame::format::share(&cell.pass_at_1))
    }

    /// An average; a dash if it is missing.
    fn average(&self, share: &Option<f64>) -> String {
        share.as_ref().map_or_else(|| "–".to_owned(), crate::frame::format::share)
    }

    /// Whether its suite's solutions are programs.
    fn is_code(&self, sample: &SampleLine) -> bool {
        let result = self.results.iter().find(|result| result.suite == sample.sample.suite);
        let name = result.map_or(sample.sample.suite.as_str(), BenchmarkResult::suite_name);
        suite(name).is_ok_and(|suite| suite.group == Group::Code)
    }
}

/// A benchmark evaluation.
pub(super) async fn show(
    view: &View,
    db: &PgPool,
    frame: EvaluationFrame,
    asked: SamplesFilter,
) -> Result<HttpResponse, ApiError> {
    let id = ExecutionId(frame.line.evaluation.id);
    let order = asked.order.or(Some(Order::Oldest));
    let listing = Listing::new("samples", Some(SAMPLES), asked.cursor.as_deref(), order)?;
    let all = BenchmarkFilter { evaluation: Some(id), ..BenchmarkFilter::default() };
    let first = Window { limit: RESULTS, after: None, order: page::Order::Oldest };
    let results = benchmarks::results(db, &all, &first).await?;
    let filter = SampleFilter {
        suite: asked.suite.clone(),
        subject: asked.subject,
        task_id: asked.task.clone(),
        correct: asked.correct,
    };
    let page = listing.page(benchmarks::samples(db, id, &filter, listing.window()).await?);
    view.show(&BenchmarkPage {
        generalization: generalization(&frame, &results.items),
        layout: frame.layout(view),
        items: with_questions(db, &results.items, page.items).await?,
        figures: curves::pass_at_k(&curves::curves(&results.items)),
        more_results: results.next.is_some(),
        results: results.items,
        pager: view.pager(page.next),
        frame,
        asked,
    })
}

/// The table of suites in and out of distribution.
fn generalization(frame: &EvaluationFrame, results: &[BenchmarkResult]) -> Option<Generalization> {
    let spec = EvaluationSpec::deserialize(&frame.line.evaluation.spec).ok()?;
    let EvaluationSpec::Benchmark(spec) = spec else { return None };
    let score = |result: &BenchmarkResult| {
        let subject = Subject { name: result.name.clone(), role: result.role, member: result.member_id };
        let cell = Cell { pass_at_1: result.pass_at_1, standard_error: result.standard_error };
        (subject, result.suite.clone(), cell)
    };
    Generalization::of(&spec.suites, results.iter().map(score))
}

/// `samples` with the questions of their rows.
async fn with_questions(
    db: &PgPool,
    results: &[BenchmarkResult],
    samples: Vec<BenchmarkSample>,
) -> Result<Vec<SampleLine>, ApiError> {
    let suites: BTreeSet<&str> = samples.iter().map(|sample| sample.suite.as_str()).collect();
    let mut questions: HashMap<(String, i32), String> = HashMap::new();
    for suite in suites {
        let dataset = results.iter().find(|result| result.suite == suite);
        let Some(dataset) = dataset.and_then(|result| result.dataset_id) else { continue };
        let of_suite = samples.iter().filter(|sample| sample.suite == suite);
        let places: Vec<i32> = of_suite.map(|sample| sample.row).collect();
        let found = datasets::questions(db, DatasetId(dataset), &places).await?;
        questions.extend(found.into_iter().map(|(row, question)| ((suite.to_owned(), row), question)));
    }
    let with = |sample: BenchmarkSample| SampleLine {
        question: questions.get(&(sample.suite.clone(), sample.row)).cloned(),
        sample,
    };
    Ok(samples.into_iter().map(with).collect())
}
