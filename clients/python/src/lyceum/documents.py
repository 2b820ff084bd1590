"""The documents that the REST API takes and returns. Written by generate.py; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Adapter(TypedDict):
    """An imported adapter."""

    artifact: str
    """The digest of its files."""

    base_model: dict[str, Any]
    """The base that it was trained on."""

    created_at: str
    """When it was imported."""

    id: str
    """The adapter."""

    lora: dict[str, Any]
    """Its rank, scale and projections. A population that begins with it has the same."""

    name: str
    """Its name, unique."""

    source: str
    """Where it was imported from."""


class Alert(TypedDict):
    """An alert."""

    acknowledged_at: NotRequired[str | None]
    """When somebody acknowledged it."""

    acknowledged_by: NotRequired[str | None]
    """The name of the token of whoever did."""

    created_at: str
    """When it was raised."""

    detail: str
    """More about it."""

    id: str
    """The alert."""

    kind: str
    """`failed`, `stalled`, `completed`, `collapsing`, `metric`, `worker_lost` or `test`."""

    run_id: NotRequired[str | None]
    """The run that it is about."""

    seq: int
    """Its number, which increases with time."""

    title: str
    """What happened, in a few words."""

AlertKind = Literal["failed", "stalled", "completed", "collapsing", "metric", "worker_lost", "test"]
"""What an alert is about."""


class AlertRule(TypedDict):
    """A rule."""

    comparison: str
    """How the mean is compared with `value`: `above`, `at_least`, `below` or `at_most`."""

    created_at: str
    """When it was created."""

    created_by: str
    """The name of the token that created it."""

    holds_of: int
    """Number of runs that it holds of at present."""

    id: str
    """The rule."""

    metric: str
    """The metric."""

    run_id: NotRequired[str | None]
    """The run that it watches; null if it watches all with a tag."""

    steps: int
    """The mean is over so many of the last steps."""

    tag: NotRequired[str | None]
    """The tag of the runs that it watches; null if it watches one."""

    value: float
    """The bound."""


class AllPresets(TypedDict):
    """All presets."""

    items: list[Preset]
    """The presets, sorted by name."""


class ApiError(TypedDict):
    """An error response: a problem document (RFC 9457)."""

    detail: str
    """What is wrong with this request, for a person."""

    errors: NotRequired[list[FieldFault]]
    """Every fault of the request."""

    status: int
    """The HTTP status."""

    title: str
    """A summary; the same for all errors of this type."""

    type: str
    """The type of error, for programs: `urn:lyceum:problem:` and a name that does not change."""


class Archive(TypedDict):
    """The map of an archive."""

    cells: list[Cell]
    """The occupied cells, in order."""

    qd_score: float
    """Sum of the elites' objectives."""

    step: NotRequired[int | None]
    """The step; absent for the current map."""


class ArmOutlook(TypedDict):
    """The runs, steps and time of an arm."""

    arm: str
    """Its name."""

    like: NotRequired[str | None]
    """The run that `step_seconds` is from."""

    runs: int
    """Its runs."""

    seconds: NotRequired[float | None]
    """Seconds of all its runs, one after the other."""

    step_seconds: NotRequired[float | None]
    """Median seconds of a step of the newest run like its own; none if there is no such run."""

    steps: int
    """Steps of all its runs."""


class Attempt(TypedDict):
    """One answer of one member to a problem."""

    answer: NotRequired[str | None]
    """The answer found in it."""

    correct: bool
    """Whether it solves the problem."""

    created_at: str
    """When it was written."""

    evaluation_id: NotRequired[str | None]
    """The evaluation that had it made; none for attempts of the run itself."""

    id: str
    """The attempt."""

    member_id: str
    """The member that answered."""

    problem_id: str
    """The problem."""

    reason: str
    """The status as text."""

    reward: float
    """Its reward."""

    reward_parts: dict[str, Any]
    """The parts of the reward, by name."""

    role: str
    """Its role."""

    sample: int
    """Index of the sample, from 0."""

    status: str
    """The verifier's status."""

    step: int
    """The step."""

    text: str
    """Its response, unparsed."""

    tokens: int
    """Its length in tokens."""

    version_id: str
    """The version of its weights."""

    well_formed: bool
    """Whether the answer has the requested form."""


class AuditedCull(TypedDict):
    """The members of a role that were culled at the end of a step."""

    candidates: list[Candidate]
    """The role's members that were not protected, the lowest lower bound first."""

    culled: list[str]
    """Who was culled."""

    measured: NotRequired[int | None]
    """Number of finished steps when the candidates were measured; absent if they were not."""

    role: str
    """The role."""

    step: int
    """The step."""

    verdicts: dict[str, list[str]]
    """Whom the rules of `matchup_score` would have culled after the same matchups."""


class BadRow(TypedDict):
    """A row whose tests cannot be used."""

    index: int
    """Its index in the dataset, from 0."""

    line: NotRequired[int | None]
    """The line of the file that it was read from, if it was read from lines."""

    message: str
    """What the verifier said."""

    reason: str
    """`passes_empty`, `fails_canonical` or `unusable`."""

    task_id: NotRequired[str | None]
    """Its task."""


class BenchmarkResult(TypedDict):
    """The result of a subject on a suite."""

    base_model: str
    """The frozen base."""

    completion_tokens: int
    """Tokens generated."""

    created_at: str
    """When it was measured."""

    dataset_id: NotRequired[str | None]
    """The dataset; none once it was deleted."""

    decoding: str
    """Hash of what influences scores in the protocol."""

    difference_high: NotRequired[float | None]
    """Its upper end."""

    difference_low: NotRequired[float | None]
    """The interval of 95 % of `pass_at_1 - reference`, paired by row (Agresti and Min 2005)."""

    entropy: NotRequired[float | None]
    """Mean surprisal of a token under the distribution it was drawn from, in nats: an estimate of that distribution's entropy, which depends on the temperature. None if it was measured by an earlier release."""

    evaluation_id: str
    """The evaluation that measured it."""

    id: str
    """The result."""

    member_id: NotRequired[str | None]
    """The member of that run."""

    n: int
    """Samples per row."""

    name: str
    """The subject's name."""

    pass_at_1: float
    """Mean pass@1 over the rows, from 0 to 1."""

    protocol: dict[str, Any]
    """How the model was asked: prompt style and its hash, hash of the chat template, decoding, token limit, samples, seed."""

    reference: NotRequired[float | None]
    """pass@1 of the base on the same rows with the same decoding; none if it was not measured so."""

    role: str
    """`base`, `baseline`, `student`, `teacher` or `member`."""

    row_set: str
    """Hash of the rows' contents in order. Only results that agree in `suite`, `row_set` and `decoding` may be compared."""

    rows: int
    """Rows measured."""

    run_id: NotRequired[str | None]
    """The subject's run."""

    seconds: float
    """Time spent on generation, in seconds, summed over its items."""

    standard_error: float
    """Its standard error over the rows."""

    step: NotRequired[int | None]
    """Number of steps the weights have been through; none for the base."""

    subject: int
    """Index of the subject in the evaluation, from 0."""

    suite: str
    """The suite, or the name the evaluation gave its rows; then `protocol.suite` is the suite."""

    truncated: NotRequired[int | None]
    """Answers that ended at the limit of tokens. None if an earlier release measured it while this one was installed."""

    version_id: NotRequired[str | None]
    """Its exact weights."""

    without_solution: NotRequired[int | None]
    """Answers in which no solution was found. None if an earlier release measured it while this one was installed."""


class BenchmarkSample(TypedDict):
    """A sample of a benchmark."""

    base_correct: NotRequired[bool | None]
    """Whether it is correct by the base benchmark's tests alone."""

    correct: bool
    """Whether it is correct."""

    finish_reason: str
    """`stop` or `length`."""

    reason: str
    """Why it is incorrect."""

    row: int
    """The row of the suite, from 0."""

    sample: int
    """Index of the sample within its row, from 0."""

    solution: NotRequired[str | None]
    """The solution found in it."""

    status: str
    """How its execution ended."""

    subject: int
    """Index of the subject in the evaluation, from 0."""

    suite: str
    """The suite."""

    task_id: str
    """The task."""

    text: str
    """The model's response."""

    tokens: int
    """Its length in tokens."""


class BenchmarkSuite(TypedDict):
    """A suite of benchmarks."""

    dataset: NotRequired[Dataset | None]

    group: str
    """The average it contributes to: `code`, `math` or `held_out`."""

    name: str
    """Its name."""

    protocol: dict[str, Any]
    """The default protocol of evaluations: `prompts`, `temperature`, `top_p`, `max_tokens`."""

    rows: NotRequired[int | None]
    """Number of rows of the complete suite; none if releases differ."""

    source: str
    """The paper, and the rows it uses."""

    title: str
    """Its display name."""


class BenchmarkSuites(TypedDict):
    """All suites."""

    items: list[BenchmarkSuite]
    """The suites, in the order of the table's columns."""


class Birth(TypedDict):
    """A birth."""

    ancestor: NotRequired[str | None]
    """What a founder began with, if not with fresh weights: an adapter, or a version of another run, as it was called then."""

    child: str
    """Its name."""

    child_id: str
    """The child."""

    learning_rate: NotRequired[float | None]
    """The child's own learning rate; null if it learns at the config's."""

    notes: list[str]
    """Notes of the operator."""

    operator: str
    """`init`, or an operator of the catalogue."""

    parameters: dict[str, Any]
    """All values of the operator's parameters."""

    parents: list[Parent]
    """The parents, in the operator's order."""

    replaces_id: NotRequired[str | None]
    """The member the child replaces."""

    seed: int
    """The operator's seed."""

    step: int
    """The step."""


class Candidate(TypedDict):
    """A member that could have been culled."""

    accuracy: NotRequired[float | None]
    """Its accuracy on held-out rows when the candidates were measured; absent if it was not."""

    id: str
    """The member."""

    lower_bound: float
    """The lower bound that members are ranked by."""

    mu: float
    """Mean of its rating by the run's rule."""

    name: str
    """Its name."""

    rank: NotRequired[int | None]
    """Its rank by accuracy among the candidates that were measured, 1 for the best."""

    sigma: float
    """Standard deviation of that rating."""


class CapabilitySummary(TypedDict):
    """The features of a recipe's runs besides problems, attempts and metrics."""

    admits: bool
    """Problems that members propose join a growing set if a critic's score is high enough."""

    archives: bool
    """Valid problems enter an archive."""

    crosses: bool
    """Any solver can attempt any proposer's problems, so missing cells of the cross-play matrix can be filled."""

    evolves: bool
    """Members are born and die after the first step."""

    has_goalposts: bool
    """Members work towards hard problems that nobody answers in a run."""

    measures_diversity: bool
    """How much the questions of an iteration differ is measured."""

    programs: bool
    """Members propose programs with inputs and outputs, so any version can be asked for fresh problems."""

    rates: bool
    """Members play matchups and are rated by them."""

    repeats: bool
    """Problems are rows of a dataset, which members answer again and again."""

    stages: bool
    """Runs are divided into stages."""


class Cell(TypedDict):
    """An occupied cell."""

    cell: int
    """The cell."""

    objective: float
    """The value by which elites are compared."""

    problem_id: str
    """Its elite."""

    step: int
    """The step in which the elite was inserted."""


class CreateAlertRule(TypedDict):
    """A rule to create: an alert is raised when the mean of a metric over the last steps of a run is beyond a bound."""

    comparison: str
    """How the mean is compared with `value`."""

    metric: str
    """A metric that the run, or some recipe, records."""

    run: NotRequired[str | None]
    """The run to watch. Exactly one of `run` and `tag` is given."""

    steps: NotRequired[int | None]
    """The mean is over so many of the last steps; 1 by default. A run with fewer steps is not looked at."""

    tag: NotRequired[str | None]
    """All runs with this tag are watched, also those that get it later."""

    value: float
    """The bound."""


class CreateDataset(TypedDict):
    """A dataset to import."""

    name: str
    """Its name, which must be unique."""

    purpose: DatasetPurpose
    """Its purpose."""

    revision: NotRequired[str | None]
    """The source's revision."""

    rows: list[dict[str, Any]]
    """Its rows: for `seeds` with `snippet` and `input`, or `inputs` and `message`; for the others with `task_id`, `question` and `oracle`, or problems of self-play with `type`, `program` and the fields of that type."""

    source: NotRequired[str]
    """Its source."""

    suite: NotRequired[str | None]
    """The benchmark suite it belongs to."""


class CreateEvaluation(TypedDict):
    """An evaluation to create."""

    priority: NotRequired[int]
    """Items of evaluations with a higher priority are processed first."""

    seed: NotRequired[int]
    """The random seed."""

    spec: dict[str, Any]
    """The measurement: `type` is `benchmark`, `cross_play`, `dataset_check`, `frozen_side`, `goalposts`, `majority_vote`, `operator_retention` or `regenerate`."""


class CreateExperiment(TypedDict):
    """An experiment to create."""

    description: NotRequired[str]
    """Its description."""

    name: str
    """Its name, which must be unique."""

    stopping: NotRequired[Stopping | None]

    tags: NotRequired[list[str]]
    """Labels."""


class CreateReward(TypedDict):
    """A reward to store."""

    source: str
    """A Python file with `score(prompt, completion, row)`."""


class CreateRun(TypedDict):
    """A run to create, from either a preset or a config."""

    config: NotRequired[dict[str, Any] | None]
    """A run config (`GET /api/v1/schema/run-config`)."""

    experiment: NotRequired[str | None]
    """Its experiment, by name or id."""

    name: NotRequired[str | None]
    """Its name; by default that of the preset or the recipe."""

    note: NotRequired[str]
    """A free-form note."""

    overrides: NotRequired[dict[str, Any]]
    """Values that override the config, by dotted path, such as `populations.main.lora.r`: at most 1,000, with paths of at most 1,000 bytes and 32 parts."""

    preset: NotRequired[str | None]
    """A preset, by name (`GET /api/v1/presets`)."""

    tags: NotRequired[list[str]]
    """Labels."""


class CreateShare(TypedDict):
    """A share link to create."""

    address: str
    """Path and query of the page that it shows, such as `/runs?state=running`."""

    days: NotRequired[int | None]
    """Days until it expires; 7 by default."""


class CreateSweep(TypedDict):
    """A sweep to begin, from either a file or a plan."""

    concurrency: NotRequired[int | None]
    """How many runs are in progress at once, instead of what the plan says."""

    confirm_runs: NotRequired[int | None]
    """The number of runs, if there are more than 100."""

    file: NotRequired[str | None]
    """The text of an experiment's file, in TOML (`configs/experiments`)."""

    name: NotRequired[str | None]
    """The experiment's name, instead of the title."""

    plan: NotRequired[dict[str, Any] | None]
    """The same as an object: `title`, `seeds`, `arms` (each with a `preset` or a `config`, and `overrides`), and if wanted `description`, `base`, `common`, `grid`, `concurrency` and `budget` (`hours`, `minutes`)."""


class CreateToken(TypedDict):
    """A token to create."""

    expires_at: NotRequired[str | None]
    """When it expires; by default never."""

    name: str
    """Its name."""

    scope: TokenScope
    """Its scope."""


class CreateView(TypedDict):
    """A view to save."""

    address: str
    """Path and query of a page, such as `/runs?state=running`."""

    name: str
    """Its name."""


class CreateWebhook(TypedDict):
    """A webhook to create."""

    kinds: NotRequired[list[AlertKind]]
    """The kinds of alerts that it wants; by default all."""

    name: str
    """Its name."""

    url: str
    """Where alerts are sent, with POST. A private address is refused unless the server allows its host."""


class Dataset(TypedDict):
    """A dataset."""

    created_at: str
    """When it was imported."""

    id: str
    """The dataset."""

    name: str
    """Its name, unique."""

    provenance: NotRequired[dict[str, Any] | None]
    """For goalposts that were filtered by an evaluation: which one, who attempted them how often, and how many were left."""

    purpose: str
    """`seeds`, `goalposts`, `training` or `benchmark`."""

    report: NotRequired[dict[str, Any] | None]
    """What its import read and left out; none for a dataset that was sent as one document."""

    revision: NotRequired[str | None]
    """The revision of the source."""

    rows: int
    """Number of rows."""

    sha256: str
    """SHA-256 of its rows, each as compact JSON and a newline."""

    source: str
    """Its source."""

    suite: NotRequired[str | None]
    """Its benchmark suite."""


class DatasetCheck(TypedDict):
    """The check of the tests of a dataset's rows."""

    bad_rows: int
    """Rows with tests that cannot be used, as far as it is known."""

    error: NotRequired[str | None]
    """Why that evaluation failed."""

    evaluation: NotRequired[str | None]
    """The newest evaluation that checks them; none before the first."""

    rows: int
    """Rows that have been checked so far."""

    state: str
    """`unchecked`, `checking` or `checked`."""

DatasetPurpose = Literal["seeds", "goalposts", "training", "benchmark"]
"""The purpose of a dataset."""


class DatasetRow(TypedDict):
    """A row."""

    index: int
    """Its index, from 0."""

    row: dict[str, Any]
    """The row."""


class Delivery(TypedDict):
    """A delivery of an alert."""

    alert_id: str
    """The alert."""

    created_at: str
    """When the alert was raised."""

    delivered_at: NotRequired[str | None]
    """When the receiver got it."""

    error: NotRequired[str | None]
    """Why the last try failed."""

    kind: str
    """What the alert is about."""

    next_try_at: str
    """When it is tried next, while it is waiting."""

    state: str
    """`waiting`, `delivered` or `failed`."""

    status: NotRequired[int | None]
    """The status of the receiver's last response."""

    title: str
    """The alert in a few words."""

    tries: int
    """How often it was tried."""


class Differential(TypedDict):
    """How selection compares with a uniform draw."""

    culled: int
    """Number of culled members that it is about."""

    mean: float
    """The mean held-out accuracy of the candidates less that of the culled: above 0 if the weaker were culled. A uniform draw gives 0 on average."""

    neutral: float
    """95 % of uniform draws from the same candidates are within this of 0, by the normal approximation."""


class Difficulty(TypedDict):
    """The rows of a run by difficulty, over time."""

    items: list[DifficultyWindow]
    """The rows at the end of each window."""

    rows: NotRequired[int | None]
    """Rows that are learned from; absent if the recipe does not say."""

    width: int
    """Steps per window."""


class DifficultyWindow(TypedDict):
    """The rows of a run by their latest answers, at the end of some steps."""

    always: int
    """Rows with only correct answers when they were last asked."""

    never: int
    """Rows without a correct answer when they were last asked."""

    sometimes: int
    """Rows with correct and wrong answers when they were last asked."""

    step: int
    """The first of the steps."""


class Diversity(TypedDict):
    """Metrics of a run by iteration."""

    iterations: list[Iteration]
    """The iterations begun, at most the last 400, in order."""

    steps_per_iteration: int
    """Steps of an iteration."""


class Estimate(TypedDict):
    """The estimated resources of a run."""

    like: NotRequired[str | None]
    """The similar run."""

    like_name: NotRequired[str | None]
    """Its name."""

    memory: list[MemoryEstimate]
    """Memory, by population."""

    seconds: NotRequired[float | None]
    """Seconds of all steps at that speed."""

    step_seconds: NotRequired[float | None]
    """Median seconds of the last 20 steps of the fastest of the newest similar runs, since others may have shared their workers; none if there is no such run."""


class Evaluation(TypedDict):
    """An evaluation."""

    created_at: str
    """When it was created."""

    error: NotRequired[str | None]
    """Why it failed."""

    finished_at: NotRequired[str | None]
    """When it ended."""

    id: str
    """The evaluation."""

    last_event: int
    """The number of its last event."""

    result: NotRequired[dict[str, Any] | None]
    """Its result, once completed."""

    run_id: NotRequired[str | None]
    """The run it is about, if there is one."""

    spec: dict[str, Any]
    """Its specification."""

    state: str
    """`running`, `paused`, `completed`, `failed` or `cancelled`."""

    step: int
    """The current step, from 0."""

    steps: int
    """Number of steps."""

    updated_at: str
    """When it last changed."""


class EvaluationCost(TypedDict):
    """What an evaluation costs."""

    answers: int
    """Answers that models give, to proposals too; in a check of a dataset, rows that are tried. Of operator retention, at most so many, and without those of retraining."""

    like: NotRequired[str | None]
    """The evaluation of that pace."""

    rows: int
    """Rows of datasets, or problems, that are answered, each counted once."""

    seconds: NotRequired[float | None]
    """Expected seconds, at the pace of the fastest of the last five completed evaluations of the type; null if there is none."""


class Event(TypedDict):
    """An event of an execution."""

    created_at: str
    """When it happened."""

    data: dict[str, Any]
    """Details, depending on the kind."""

    kind: str
    """What happened: `created`, `step_started`, `step_finished`, `planned`, `state`, `renamed`, `measuring`, `not_measured`; for evaluations also `measured`."""

    number: int
    """Its number within the execution, from 1 without gaps; readers resume after the last one they have seen."""


class Events(TypedDict):
    """Events of a run or an evaluation."""

    items: list[Event]
    """At most a thousand events, in the order of their numbers."""


class Experiment(TypedDict):
    """An experiment."""

    created_at: str
    """When it was created."""

    description: str
    """Its description."""

    id: str
    """The experiment."""

    name: str
    """Its name, unique."""

    stopping: NotRequired[dict[str, Any] | None]
    """When its arms have enough seeds: `alpha`, `beta`, `h0` and `h1` of a sequential test; none if the rule is off."""

    tags: list[str]
    """Labels."""

    updated_at: str
    """When it last changed."""


class FieldFault(TypedDict):
    """One fault of a request."""

    detail: str
    """What is wrong, and what would be valid."""

    parameter: NotRequired[str | None]
    """The query parameter or header."""

    pointer: NotRequired[str | None]
    """The field of the body, as a JSON pointer (RFC 6901); empty for the whole body."""


class ForkRun(TypedDict):
    """The step of a fork, and its changes."""

    more_steps: NotRequired[int | None]
    """Steps to run from there on, which sets `steps` of the config."""

    name: NotRequired[str | None]
    """The fork's name."""

    overrides: NotRequired[dict[str, Any]]
    """Values that override the config, by dotted path: at most 1,000, with paths of at most 1,000 bytes and 32 parts."""

    step: NotRequired[int | None]
    """The step before which to fork; by default where the run is now, or its end."""

FoundKind = Literal["page", "action", "run", "experiment", "member", "problem", "evaluation", "dataset"]
"""What something that was found is."""


class Geometry(TypedDict):
    """The geometry of members' updates. It is measured at births."""

    pairs: list[MeasuredPair]
    """The pairs that were measured at the end of `step`, each once."""

    step: NotRequired[int | None]
    """The step of the pairs; null if nothing was measured yet."""

    versions: list[MeasuredVersion]
    """The measured versions of all steps, oldest first."""


class Goalpost(TypedDict):
    """A goalpost that was solved."""

    arms: list[GoalpostHistory]
    """What each arm did, in the order of the arms."""

    row: int
    """Its place in the dataset."""

    task_id: NotRequired[str | None]
    """Its task, if it has a name."""


class GoalpostArm(TypedDict):
    """The runs of an arm."""

    checkpoints: GoalpostSide
    """All seeds together: a goalpost is solved after a step if any seed's checkpoint solved it."""

    control: NotRequired[GoalpostSide | None]

    name: str
    """The name of its first run."""

    runs: list[GoalpostRun]
    """Its runs."""


class GoalpostDataset(TypedDict):
    """A dataset of goalposts."""

    id: str
    """The dataset."""

    name: str
    """Its name."""

    rows: int
    """How many goalposts it has."""


class GoalpostHistory(TypedDict):
    """How an arm fared on a goalpost."""

    control: list[dict[str, Any]]
    """The same of the untrained base in their place."""

    solves: list[dict[str, Any]]
    """After the steps at which a checkpoint solved it: how often, of how many attempts of all seeds."""


class GoalpostMap(TypedDict):
    """Which goalposts the checkpoints of some runs solved when, by arm; runs of an arm differ by seed alone."""

    arms: list[GoalpostArm]
    """The arms."""

    dataset: NotRequired[GoalpostDataset | None]

    datasets: list[GoalpostDataset]
    """All datasets that these runs' checkpoints have attempted, the last measured first."""

    goalposts: list[Goalpost]
    """The goalposts that any checkpoint or control solved, in the order of the dataset."""


class GoalpostRun(TypedDict):
    """A run."""

    checkpoints: GoalpostSide
    """What its checkpoints solved."""

    control: NotRequired[GoalpostSide | None]

    id: str
    """The run."""

    name: str
    """Its name."""

    recipe: str
    """Its recipe."""

    seed: str
    """Its seed, in decimal."""


class GoalpostSide(TypedDict):
    """What checkpoints, or the untrained base in their place, solved."""

    attempts: int
    """All attempts."""

    solved: int
    """Goalposts solved at least once."""

    steps: list[dict[str, Any]]
    """By step: how many were solved after it and how many so far, and attempts after it."""


class Growth(TypedDict):
    """How a run's growing set grows."""

    items: list[GrowthStep]
    """The steps, in order."""

    threshold: NotRequired[float | None]
    """The least score with which a problem joins the set; absent if the run's recipe is unknown here or has no such set."""

    validation: list[Validation]
    """Scores of the run's members on benchmarks, by suite and step."""


class GrowthStep(TypedDict):
    """Some steps."""

    step: int
    """The first of them."""

    values: dict[str, float | None]
    """`pool_size`, `admitted_share`, `question_score`, `plan_score`, `critic_auc`, `stated_right_share` and `admitted_right_share`: means over the steps that have a value."""

    width: int
    """How many they are."""


class HeldOutResult(TypedDict):
    """A member's answers to the held-out rows in a step."""

    correct: list[int]
    """How many of them are correct, by row."""

    first_row: int
    """The place of the first held-out row in the dataset."""

    member_id: str
    """The member."""

    n: int
    """Answers to each row."""

    step: int
    """The step."""

    version_id: str
    """The version of its weights, with which it began the step."""


class ImportPreview(TypedDict):
    """What an import would keep."""

    report: dict[str, Any]
    """Rows read and kept, and how many each filter left out."""

    revision: NotRequired[str | None]
    """The revision of the source."""

    rows: list[dict[str, Any]]
    """The first rows as they would be stored."""


class Insertion(TypedDict):
    """An insertion into the archive."""

    cell: int
    """The cell."""

    objective: float
    """The value by which elites are compared."""

    problem_id: str
    """The problem."""

    status: str
    """The effect on the cell: `new` or `improve`."""

    step: int
    """The step."""


class Iteration(TypedDict):
    """An iteration."""

    iteration: int
    """Its number, from 1."""

    measured_in: NotRequired[int | None]
    """The step in which the diversity of its questions was measured; absent if it was not (yet), or there were no questions."""

    values: dict[str, float | None]
    """The metrics that concern diversity, by name: the means over its steps that have a value."""


class LatestVersion(TypedDict):
    """The newest weights of a member."""

    artifact: str
    """Digest of its PEFT folder."""

    id: str
    """The version."""

    learning_rate: NotRequired[float | None]
    """The member's own learning rate; null if it learns at the config's."""

    ordinal: int
    """0 at birth, incremented by each update."""

    step: int
    """The step that made it."""


class Leaderboard(TypedDict):
    """Results, best first."""

    items: list[BenchmarkResult]
    """The best result of each member and each base."""


class MakeGoalposts(TypedDict):
    """Goalposts to make."""

    allow_overlap: NotRequired[bool]
    """Keep rows that ask what a benchmark asks, whose scores then mean nothing."""

    evaluations: list[str]
    """Finished evaluations of type `goalposts` of the same rows. A row is kept if none of their attempts solved it."""

    name: str
    """The new dataset's name, which must be unique."""


class Matchup(TypedDict):
    """A matchup of a teacher and a student."""

    id: str
    """The matchup."""

    predicted: float
    """The student's win probability, predicted from the ratings before the matchup."""

    proposed: int
    """Problems proposed."""

    solve_rate: NotRequired[float | None]
    """Mean solve rate over the valid ones; none if there are none."""

    step: int
    """The step."""

    student_id: str
    """The solver."""

    student_score: NotRequired[float | None]
    """The student's score, which was compared with `predicted`; none where the solve rate was compared."""

    teacher_id: str
    """The proposer."""

    teacher_reward: NotRequired[float | None]
    """The teacher's mean reward over all proposals, -1 for an invalid one; none where it was not kept."""

    valid: int
    """Valid ones among them."""

    winner: str
    """`teacher` or `student`."""


class MeasuredPair(TypedDict):
    """Two versions that were measured together."""

    cosine: NotRequired[float | None]
    """The cosine of their updates; null if one is zero."""

    distance: float
    """The Frobenius norm of the difference of their updates."""

    first_id: str
    """One version."""

    second_id: str
    """The other."""


class MeasuredVersion(TypedDict):
    """A version by itself."""

    effective_rank: NotRequired[float | None]
    """The effective rank of its update (Roy and Vetterli 2007), mean over modules; null if the update is zero."""

    member: str
    """Its name."""

    member_id: str
    """The member."""

    norm: float
    """The Frobenius norm of its update."""

    ordinal: int
    """Its ordinal."""

    step: int
    """The step at whose end it was measured."""

    version_id: str
    """The version."""


class Member(TypedDict):
    """A member."""

    born_step: int
    """The step of its birth."""

    cause_of_death: NotRequired[str | None]
    """Why it died."""

    died_step: NotRequired[int | None]
    """The step of its death."""

    id: str
    """The member."""

    name: str
    """Its name within the run."""

    population: str
    """Its population's name."""

    ratings: list[Rating]
    """Its newest rating in each role."""

    roles: list[str]
    """Its roles."""

    version: NotRequired[LatestVersion | None]


class MemoryEstimate(TypedDict):
    """Peak memory of a population's updates and generation, in bytes, by use (`lyceum_core::footprint`)."""

    activations: NotRequired[int | None]
    """Activations and temporary buffers."""

    adapters: NotRequired[int | None]
    """The members' weights before and after."""

    base: NotRequired[int | None]
    """The base's weights."""

    base_model: str
    """Its base model."""

    bytes: NotRequired[int | None]
    """Total memory of an update; none if unknown."""

    cache: NotRequired[int | None]
    """The part of it for keys and values of sequences in flight."""

    generation: NotRequired[int | None]
    """Total memory of generation if all answers reach their limits; none if unknown."""

    gradient: NotRequired[int | None]
    """The gradient, and the weights in the layout for matrix products."""

    moments: NotRequired[int | None]
    """AdamW's moments before and after."""

    population: str
    """The population."""

    unknown: NotRequired[str | None]
    """Why it is unknown."""


class MetricRow(TypedDict):
    """The values of a member or the run in a step or bucket."""

    max: NotRequired[list[float | None] | None]
    """Maxima; only if the row covers several steps."""

    mean: list[float | None]
    """Values, or their means, in the order of the run's metrics; null if there is none."""

    member_id: NotRequired[str | None]
    """The member; none for the run."""

    min: NotRequired[list[float | None] | None]
    """Minima; only if the row covers several steps."""

    step: int
    """The (first) step."""

    width: int
    """How many steps it covers."""


class MetricSummary(TypedDict):
    """A metric."""

    charts: list[str]
    """Titles of the charts that show it."""

    group: NotRequired[str | None]
    """The group of its first chart; none if it has no chart."""

    highlights: list[str]
    """Where it is shown besides its charts: `step_line`, `comparison`, `learnability` or `diversity`."""

    name: str
    """Its name."""

    side: NotRequired[str | None]
    """The side it is about, if it is about one only."""

    summary: str
    """Its meaning, in a sentence."""

    unit: str
    """Its unit; empty for a plain number."""


class Metrics(TypedDict):
    """Metrics over steps."""

    level: int
    """The level used."""

    metrics: list[str]
    """Names of the metrics, in the order of the values."""

    next: NotRequired[int | None]
    """The `from` of the next request; absent at the end."""

    rows: list[MetricRow]
    """Rows in the order of their steps. The last full bucket is followed by single steps."""


class Neighbour(TypedDict):
    """A neighbour."""

    bleu: float
    """BLEU-4 of the question against it."""

    index: int
    """Its index within the step."""

    problem_id: str
    """The problem."""

    question: str
    """Its text."""

    similarity: NotRequired[float | None]
    """Cosine similarity of the embeddings; absent if compared by wording."""

    step: int
    """The step in which it was proposed."""


class Neighbours(TypedDict):
    """The nearest neighbours of a question."""

    by: Similarity
    """How questions were compared: `embedding`, or `wording` if an embedding is missing."""

    items: list[Neighbour]
    """The neighbours, nearest first."""

    iteration: NotRequired[int | None]
    """The iteration that was searched, from 1; absent if none was measured."""

    problem_id: str
    """The question."""

    question: str
    """Its text."""


class Outlook(TypedDict):
    """The runs, steps and time of a plan."""

    arms: list[ArmOutlook]
    """By arm."""

    budget_seconds: NotRequired[float | None]
    """Seconds after which no more runs begin."""

    concurrency: int
    """How many of them are in progress at once."""

    run_seconds: NotRequired[float | None]
    """Seconds of all runs, one after the other; none if an arm's pace is unknown."""

    runs: int
    """Runs, all together."""

    seconds: NotRequired[float | None]
    """Seconds until the last run ends, if runs in progress together are as fast as the earlier ones were."""

    unused: list[str]
    """Parts of the file that are for `script/results` alone."""


class Overlap(TypedDict):
    """Rows that two datasets have in common."""

    dataset_id: str
    """The other dataset."""

    name: str
    """Its name."""

    purpose: str
    """Its purpose: a measurement on rows that were also trained on is worthless."""

    rows: int
    """Rows of this dataset with the question or program of a row of the other."""


class Parent(TypedDict):
    """A parent's weights at a birth."""

    displacement: NotRequired[float | None]
    """‖ΔW_child − ΔW_parent‖ / ‖ΔW_parent‖ at the birth; null if it was not measured or the parent's update is zero."""

    member: str
    """Its name."""

    member_id: str
    """The member."""

    ordinal: int
    """Their ordinal."""

    run_id: str
    """The run that it belongs to: another one for members that began with the weights of another run."""

    version_id: str
    """The weights."""


class PlannedEvaluation(TypedDict):
    """What an evaluation would do, and its cost."""

    config: dict[str, Any]
    """The config with everything that the spec names looked up."""

    cost: EvaluationCost
    """Its cost."""


class Preset(TypedDict):
    """A run config to start from."""

    config: dict[str, Any]
    """The config, as written."""

    description: str
    """Its description: the comment at the top of the file."""

    name: str
    """Its name: the file's, without `.toml`."""


class Problem(TypedDict):
    """A problem. Lists omit long fields unless full rows are requested."""

    ast_depth: NotRequired[float | None]
    """Nesting depth of the program's syntax tree."""

    attempts: int
    """Number of attempts."""

    cell: NotRequired[int | None]
    """Its cell in the archive."""

    created_at: str
    """When it was written."""

    cyclomatic: NotRequired[float | None]
    """Cyclomatic complexity."""

    id: str
    """The problem."""

    index: int
    """Its index within the step, from 0."""

    loc: NotRequired[float | None]
    """Lines of code."""

    program: NotRequired[str | None]
    """Its program."""

    prompt: NotRequired[str | None]
    """The proposer's prompt; in full only."""

    proposal: NotRequired[str | None]
    """The proposer's response, unparsed; in full only."""

    proposer_id: NotRequired[str | None]
    """Its proposer; none for a row of a dataset."""

    reason: str
    """The status as text."""

    reward: NotRequired[float | None]
    """Its proposer's reward."""

    reward_parts: NotRequired[dict[str, Any] | None]
    """The parts of the reward, by name; in full only."""

    solve_rate: NotRequired[float | None]
    """Share of the attempts that solved it; none without attempts."""

    status: str
    """The verifier's status: `ok`, `malformed`, `error`, `timeout`, `memory`, `nondeterministic`, `unsafe` or `unserialisable`."""

    step: int
    """The step in which it was proposed."""

    type: str
    """Its type, such as `code_o`."""

    valid: bool
    """Whether it may be attempted."""

    values: NotRequired[dict[str, Any] | None]
    """Inputs, outputs and message; in full only."""

    variables: NotRequired[float | None]
    """Distinct variables."""

    version_id: NotRequired[str | None]
    """The version of the proposer's weights."""


class ProblemParent(TypedDict):
    """A relation between two problems."""

    parent_id: str
    """The earlier problem."""

    problem_id: str
    """The later problem."""

    relation: str
    """The role of the earlier for the later: `reference`, `goalpost` or `lemma`."""


class Rating(TypedDict):
    """A rating (TrueSkill)."""

    mu: float
    """Mean."""

    role: str
    """The role."""

    sigma: float
    """Standard deviation."""

    step: int
    """The step after which it was computed."""


class RecipeSummary(TypedDict):
    """An algorithm."""

    capabilities: CapabilitySummary
    """The features of its runs."""

    metric_details: list[MetricSummary]
    """The same metrics in full."""

    metrics: list[str]
    """Names of the metrics it records, in the order of their values."""

    name: str
    """Its name."""

    roles: list[RoleSummary]
    """The roles its members play; empty if they follow from the config alone."""

    summary: str
    """What it does, in a sentence."""


class Recipes(TypedDict):
    """All recipes."""

    items: list[RecipeSummary]
    """The recipes, sorted by name."""


class RepeatedWording(TypedDict):
    """A wording."""

    example: str
    """Its text."""

    problem_id: str
    """The first of them."""

    questions: int
    """Questions with it."""

    wording: str
    """The text with `#` for every number."""


class ResolvedRun(TypedDict):
    """The result of a dry run."""

    config: dict[str, Any]
    """The config with every default written out."""

    estimate: Estimate
    """Its estimated time and memory."""

    metrics: list[str]
    """Names of its metrics."""


class RoleSummary(TypedDict):
    """A role."""

    name: str
    """Its name."""

    side: str
    """What its members do with problems: `proposing`, `solving`, `planning` or `judging`."""


class RowProgress(TypedDict):
    """A row of a dataset in a run that learns from it."""

    answers: int
    """All answers to it."""

    correct: int
    """How many of them are correct."""

    first_asked: int
    """The step in which it was first asked."""

    first_solved: NotRequired[int | None]
    """The step of its first correct answer; none if there is no such answer."""

    last_asked: int
    """The step in which it was last asked."""

    latest_answers: int
    """Answers in the step in which it was last asked."""

    latest_correct: int
    """How many of these are correct."""

    problem_id: str
    """Its problem."""

    row: int
    """Its place in the dataset, from 0."""


class Run(TypedDict):
    """A run, as shown in lists."""

    arm: str
    """Hash of the config without its seed: runs of one arm differ only by seed."""

    attempts: int
    """Attempts so far."""

    cells: int
    """Occupied cells of the archive."""

    created_at: str
    """When it was created."""

    error: NotRequired[str | None]
    """Why it failed."""

    experiment: NotRequired[str | None]
    """The experiment's name."""

    experiment_id: NotRequired[str | None]
    """Its experiment."""

    finished_at: NotRequired[str | None]
    """When it ended."""

    forked_at_step: NotRequired[int | None]
    """The step at which it was forked."""

    forked_from: NotRequired[str | None]
    """The run it was forked from."""

    id: str
    """The run."""

    last_event: int
    """Number of its last event."""

    matchups: int
    """Matchups so far."""

    max_concurrent: NotRequired[int | None]
    """Maximum number of items in progress at once."""

    name: str
    """Its name."""

    note_excerpt: str
    """The first 280 characters of the note."""

    preset: NotRequired[str | None]
    """The preset of its config."""

    priority: int
    """Items of runs with a higher priority go first."""

    problems: int
    """Problems proposed so far."""

    recipe: str
    """The algorithm."""

    reproducible: bool
    """Whether the same config and seed would reproduce the run bit for bit."""

    seed: int
    """Seed of all randomness."""

    stage: str
    """The recipe's name for this part of the run; empty without stages."""

    state: str
    """`running`, `paused`, `completed`, `failed` or `cancelled`."""

    step: int
    """The current step, from 0."""

    steps: int
    """Number of steps."""

    tags: list[str]
    """Labels."""

    updated_at: str
    """When it last changed."""

    valid_problems: int
    """Valid problems so far."""


class RunResult(TypedDict):
    """The result of a run's members that solve, after a step. Only results that agree in `suite`, `row_set` and `decoding` may be compared, sorted or averaged."""

    base_model: str
    """The frozen base."""

    decoding: str
    """Hash of what influences scores in how the rows were asked: prompts, chat template, decoding, samples per row."""

    difference_high: NotRequired[float | None]
    """Its upper end."""

    difference_low: NotRequired[float | None]
    """The interval of 95 % of `pass_at_1 - reference`, paired by row (Agresti and Min 2005)."""

    members: int
    """Members, over which the result is averaged."""

    n: int
    """Samples per row."""

    of_suite: str
    """The suite itself."""

    pass_at_1: float
    """Mean pass@1 over members and rows, from 0 to 1."""

    reference: NotRequired[float | None]
    """pass@1 of the base on the same rows with the same decoding; if it was not measured so, of the run's first such measurement. None if there is neither."""

    reference_step: NotRequired[int | None]
    """The step of that first measurement; none if the reference is the base."""

    row_set: str
    """Hash of the rows' contents in order."""

    rows: int
    """Rows."""

    run_id: str
    """The run that was measured: for what a fork inherits, the one it comes from."""

    standard_error: float
    """Its standard error over rows."""

    step: int
    """Finished steps."""

    suite: str
    """The suite, or the name that the evaluation gave its rows; `held-out rows` for those of the run's own dataset."""

    temperature: NotRequired[float | None]
    """Softmax temperature, 0 for greedy answers; none for `held-out rows`, which are asked as the config says."""


class RunResults(TypedDict):
    """Results of a run."""

    items: list[RunResult]
    """By suite, row set, decoding and step."""

Scope = Literal["worker", "read", "write", "admin"]
"""A token's permissions. Each scope includes those before it, but for `worker`, which is apart."""


_ScoreBucket = TypedDict("_ScoreBucket", {"from": "str"})


class ScoreBucket(_ScoreBucket):
    """Problems with about the same score."""

    admitted: int
    """Those that joined the growing set."""

    high: NotRequired[float | None]
    """The upper end."""

    known: int
    """Those whose stated answer is known to be right or wrong."""

    low: NotRequired[float | None]
    """The lower end of its interval of 95 % (Wilson 1927)."""

    proposed: int
    """Problems."""

    right: int
    """Those whose stated answer is right."""

    right_share: NotRequired[float | None]
    """The share of `known` that is right; absent without any."""

    score: float
    """The score in the middle of the bucket, from 0 to 1."""

    valid: int
    """Those that are valid."""


class Scores(TypedDict):
    """The problems that members proposed, by the critic's score."""

    auc: NotRequired[float | None]
    """The probability that a right stated answer has a higher score than a wrong one, of the problems whose truth is known; absent without both."""

    is_cut: bool
    """Whether there are more."""

    items: list[ScoreBucket]
    """Problems that were not scored, ten buckets of scores, and problems that the critic gave no number."""

    mean_score: NotRequired[float | None]
    """The mean score of the same problems; absent without any."""

    problems: int
    """Problems counted: the newest of those steps, at most 50,000."""

    right_share: NotRequired[float | None]
    """The share of the same problems whose stated answer is right; absent without any."""


class Selection(TypedDict):
    """What selection did in a run."""

    culling: str
    """The run's `evolution.culling`: `rating` or `random`."""

    differential: NotRequired[Differential | None]

    items: list[AuditedCull]
    """The culls, in order."""

    matchup_score: str
    """The run's `matchup_score`: `per_role`, `reward` or `solve_rate`."""


class Session(TypedDict):
    """The caller's identity."""

    csrf_token: NotRequired[str | None]
    """The `x-csrf-token` a session must send with changes, different in each response; absent for a program with a token."""

    token: Token
    """The token sent, or the one the session was opened with."""


class Share(TypedDict):
    """A share link, without its secret."""

    address: str
    """Path and query of the page that it shows."""

    created_at: str
    """When it was created."""

    expires_at: str
    """When it expires."""

    id: str
    """Its id, for revoking it; not the secret."""

Similarity = Literal["embedding", "wording"]
"""How questions were compared."""


class SolvedAtStep(TypedDict):
    """The tasks solved by the members of one step."""

    correct: list[int]
    """Correct samples of all of them, by row."""

    members: int
    """Members measured."""

    samples: list[int]
    """Samples of all of them, by row."""

    solved: int
    """Rows solved by any of them."""

    step: int
    """Finished steps of the run."""


class SolvedBySteps(TypedDict):
    """The tasks solved by members, by step."""

    first_solved: list[int | None]
    """For each row the first step at which a sample of any member solved it; none if there is no such step."""

    rows: int
    """Rows of the suite."""

    steps: list[SolvedAtStep]
    """The tasks solved at each step."""

    suite: str
    """The suite."""


class Step(TypedDict):
    """A step."""

    ended: int
    """Items that have ended."""

    finished_at: NotRequired[str | None]
    """When it ended."""

    plan_seconds: float
    """Time spent planning it, in seconds."""

    stage: str
    """The recipe's name for this part of the run."""

    started_at: str
    """When it started."""

    step: int
    """Its number, from 0."""

    total: int
    """Items planned so far."""


class Stopping(TypedDict):
    """When an experiment has enough seeds: a sequential test of the difference of each arm's held-out accuracy from the first arm's. When it has decided about every arm, sweeps begin no more runs."""

    alpha: NotRequired[float]
    """The share of such tests that decide for `h1` although the difference is `h0`."""

    beta: NotRequired[float]
    """The share of such tests that decide for `h0` although the difference is `h1`."""

    h0: NotRequired[float]
    """A difference that is not worth having, as a share: 0.02 is two percentage points."""

    h1: NotRequired[float]
    """A difference that is."""

    on: NotRequired[bool]
    """`false` switches the rule off."""


class StoredReward(TypedDict):
    """A stored reward."""

    digest: str
    """SHA-256 of its text: its name."""

    source: str
    """Its text, a Python file."""


class Suggestion(TypedDict):
    """Something that was found."""

    address: str
    """The address of its page."""

    id: NotRequired[str | None]
    """Its id; none of a page."""

    kind: FoundKind
    """What it is."""

    name: str
    """Its name; of a problem or an evaluation, its type."""

    of: str
    """The run that it is of, or the place of a page; empty if there is none."""


class Suggestions(TypedDict):
    """What was found."""

    items: list[Suggestion]
    """Pages and actions first, then what has the text in its name or id, by kind."""


class Sweep(TypedDict):
    """A sweep."""

    budget_seconds: NotRequired[float | None]
    """Seconds after which no more runs begin."""

    completed: int
    """How many have completed."""

    concurrency: int
    """How many of its runs are in progress at once."""

    created_at: str
    """When it was created."""

    experiment: str
    """The experiment's name."""

    experiment_id: str
    """Its experiment."""

    failed: int
    """How many have failed, were cancelled, or could not begin."""

    finished_at: NotRequired[str | None]
    """When it ended."""

    id: str
    """The sweep."""

    open: int
    """How many are in progress."""

    plan: dict[str, Any]
    """The plan, as it was sent."""

    planned: int
    """How many have not begun."""

    reason: NotRequired[str | None]
    """Why it is paused, if nobody asked for that."""

    runs: int
    """Its runs, all together."""

    state: str
    """`running`, `paused`, `completed` (no run is left to begin, and none is in progress) or `cancelled`."""

    updated_at: str
    """When it last changed."""


class SweepRun(TypedDict):
    """A run of a sweep."""

    arm: str
    """Its arm."""

    begun_at: NotRequired[str | None]
    """When it began; none before."""

    error: NotRequired[str | None]
    """Why it could not begin."""

    name: str
    """Its name."""

    ordinal: int
    """Its place in the sweep, from 0."""

    point: dict[str, Any]
    """Values of the grid's fields."""

    run_id: NotRequired[str | None]
    """The run; none before it has begun, and once it was deleted."""

    seed: int
    """Its seed."""

    state: NotRequired[str | None]
    """The run's state."""

    step: NotRequired[int | None]
    """The run's current step."""

    steps: NotRequired[int | None]
    """The run's number of steps."""


class Token(TypedDict):
    """A token, without its secret."""

    created_at: str
    """When it was created."""

    expires_at: NotRequired[str | None]
    """When it expires."""

    id: str
    """Its id, for revoking it; not the secret."""

    last_used_at: NotRequired[str | None]
    """When it was last used, to the minute."""

    name: str
    """Its name."""

    revoked_at: NotRequired[str | None]
    """When it was revoked."""

    scope: Scope
    """Its permissions."""

TokenScope = Literal["worker", "read", "write", "admin"]
"""The scope of a token."""


class Tokens(TypedDict):
    """All tokens."""

    items: list[Token]
    """Newest first."""


class UpdateExperiment(TypedDict):
    """Changes to an experiment."""

    description: NotRequired[str | None]
    """Its description."""

    name: NotRequired[str | None]
    """Its name."""

    stopping: NotRequired[Stopping | None]

    tags: NotRequired[list[str] | None]
    """Labels."""


class UpdateRun(TypedDict):
    """Changes to a run."""

    experiment: NotRequired[str | None]
    """Its experiment, by name or id."""

    max_concurrent: NotRequired[int | None]
    """Maximum items in progress; 0 means no limit."""

    name: NotRequired[str | None]
    """Its name."""

    note: NotRequired[str | None]
    """A free-form note."""

    priority: NotRequired[int | None]
    """Items of runs with a higher priority are processed first."""

    tags: NotRequired[list[str] | None]
    """Labels."""


class UpdateSweep(TypedDict):
    """Changes to a sweep."""

    budget_seconds: NotRequired[float | None]
    """Seconds since it was created after which no more runs begin."""

    concurrency: NotRequired[int | None]
    """How many runs are in progress at once."""


class Validation(TypedDict):
    """What a run's members scored on a suite."""

    members: int
    """Members measured."""

    pass_at_1: float
    """Their mean pass@1, from 0 to 1."""

    rows: int
    """Rows measured."""

    standard_error: float
    """Its standard error over the rows, which all members answer."""

    steps_done: int
    """Steps that were done."""

    suite: str
    """The suite."""


class View(TypedDict):
    """A saved view."""

    address: str
    """Path and query of the page."""

    created_at: str
    """When it was saved."""

    id: str
    """The view; `/views/ID` opens it."""

    name: str
    """Its name."""


class Webhook(TypedDict):
    """A webhook, without its secret."""

    created_at: str
    """When it was created."""

    id: str
    """The webhook."""

    kinds: list[str]
    """The kinds of alerts that it wants."""

    name: str
    """Its name."""

    url: str
    """Where alerts are sent."""


class Wordings(TypedDict):
    """The wordings of an iteration's questions."""

    different: int
    """Different wordings: questions that differ in numbers only count once."""

    items: list[RepeatedWording]
    """The wordings most repeated."""

    iteration: NotRequired[int | None]
    """The iteration, from 1; absent if none was measured."""

    questions: int
    """Its questions."""


class WorkInput(TypedDict):
    """An input of an item."""

    kind: str
    """`adapter`, `optimizer`, `tokens`, `gradient` or `embeddings` for an artifact, `dataset` for rows."""

    name: str
    """The artifact's digest, or the dataset's id."""

    path: str
    """Its path on this server."""


class WorkItem(TypedDict):
    """An item, as shown in lists."""

    attempts: int
    """Tries so far."""

    base_model: NotRequired[str | None]
    """The base model a worker must be able to load."""

    chunk: int
    """The chunk of the round."""

    created_at: str
    """When it was planned."""

    device: NotRequired[str | None]
    """What it is computed on: `cpu` or `cuda`; anything if null."""

    errors: list[dict[str, Any]]
    """Errors, one per failed try: `attempt`, `at`, `worker`, `kind` (`error`, `panic`, `lost`, `payload`), `message`."""

    execution_id: str
    """Its run or evaluation."""

    finished_at: NotRequired[str | None]
    """When it ended."""

    id: str
    """The item: a hash of its run and key."""

    kernels: NotRequired[str | None]
    """The instruction set that its processor must have, such as `avx512`; any if null."""

    kind: str
    """`rollout`, `verify`, `update`, `evolve` or `benchmark`."""

    max_attempts: int
    """Maximum number of tries."""

    memory_bytes: int
    """Peak device memory, in bytes."""

    phase: str
    """The phase of the step."""

    progress: NotRequired[float | None]
    """From 0 to 1, if known."""

    progress_at: NotRequired[str | None]
    """Time of the last progress."""

    progress_note: NotRequired[str | None]
    """The current activity."""

    round: int
    """The round of the phase."""

    run_at: str
    """Earliest time of the next try."""

    sampler: str
    """What generates its tokens: `engine` or `served`; the engine for items without any."""

    stalled_since: NotRequired[str | None]
    """Time of the last progress, if the item is running and that was more than a minute ago."""

    started_at: NotRequired[str | None]
    """When its last try started."""

    state: str
    """`ready`, `running`, `done`, `failed` or `cancelled`."""

    step: int
    """The step."""

    trainer: str
    """What takes its optimizer steps: `engine` or `torchrun`; the engine for items that are no updates."""

    worker: NotRequired[str | None]
    """That worker's name."""

    worker_id: NotRequired[str | None]
    """The worker that has it, or had it last."""


class Worker(TypedDict):
    """A worker."""

    base_models: list[str]
    """The base models it can load; empty means any."""

    device: str
    """`cpu`, or the GPU's name."""

    host: str
    """The machine."""

    id: str
    """The worker; a new id with every start."""

    kernels: NotRequired[str | None]
    """The instruction set of its processor, such as `avx512`; null on a GPU, where it has no name, and for one of an earlier release."""

    kinds: list[str]
    """The kinds of work it takes."""

    last_seen: str
    """When it was last seen."""

    loaded_models: list[str]
    """The base models it has loaded."""

    memory_bytes: int
    """Memory that an item may take of its device, in bytes."""

    name: str
    """Its name."""

    samplers: list[str]
    """What may generate tokens there: `engine`, `served`; none if it takes no such work."""

    started_at: str
    """When it started."""

    state: str
    """`idle`, `busy`, `draining`, `stopped` or `lost`."""

    stopped_at: NotRequired[str | None]
    """When it left or was marked as lost."""

    trainers: list[str]
    """What may take the optimizer steps of updates there: `engine`, `torchrun`; none if it takes no updates."""

    versions: dict[str, Any]
    """Versions of Lyceum, libtorch, Python and so on."""


class WrittenArtifact(TypedDict):
    """A written artifact."""

    bytes: int
    """Its size in bytes."""

    digest: str
    """SHA-256 of its content: its name."""


class CreatedShare(Share):
    """A new share link, whose path is shown only once."""

    path: str
    """The path of the link, with its secret."""


class CreatedToken(Token):
    """A new token, shown only once."""

    token: str
    """The token itself, which cannot be shown again."""


class CreatedWebhook(Webhook):
    """A new webhook, with its secret, which is shown only once."""

    secret: str
    """Signs what is sent (standardwebhooks.com); it cannot be shown again."""


class DatasetDetail(Dataset):
    """A dataset and its overlap with others."""

    check: NotRequired[DatasetCheck | None]

    overlaps: list[Overlap]
    """Other datasets with the same questions or programs. Training data and benchmarks should not overlap."""


class ProblemDetail(Problem):
    """A problem in full."""

    first_attempts: list[Attempt]
    """The first hundred attempts; `GET /runs/{id}/attempts?problem=` has all."""

    relations: list[ProblemParent]
    """The problems that inspired it, and those it inspired."""


class ResultWithCurve(BenchmarkResult):
    """A result with its pass@k curves."""

    base_curve: NotRequired[list[dict[str, Any]] | None]
    """The same with the tests of the base benchmark only (EvalPlus)."""

    curve: list[dict[str, Any]]
    """pass@k over k: points with `k`, `pass_at_k` and `standard_error`."""

    repeats: NotRequired[dict[str, Any] | None]
    """Over the n repeats of the whole suite: `count`, `mean` of pass@1, `std`, `standard_error`, `min`, `max`."""

    solved: int
    """Rows with a correct sample."""


class RunDetail(Run):
    """A run, in full."""

    config: dict[str, Any]
    """The resolved config, with all defaults."""

    metrics: list[str]
    """Names of its metrics, in the order of their values."""

    note: str
    """A note."""

    trace_id: NotRequired[str | None]
    """Links the request that created it to its work (W3C trace id)."""


class WorkDetail(WorkItem):
    """An item, in full."""

    payload: dict[str, Any]
    """The payload."""

    result: NotRequired[dict[str, Any] | None]
    """The result."""


class ShownWork(WorkDetail):
    """An item with its payload, result and inputs."""

    inputs: list[WorkInput]
    """What the item reads besides its payload. `lyceum-worker run` takes this whole response and runs the item by hand."""

    lacks: NotRequired[str | None]
    """What every worker lacks that is present; null if one could take the item, or it is not `ready`."""
