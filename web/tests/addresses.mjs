// All pages, by the name of their screenshot, for everything that visits all pages.

/** Pages of a server with the runs `run` and `second`. */
export async function addresses(lab, run, second) {
  const first = async (path) => (await lab.api("GET", path)).items[0]?.id;
  const member = await first(`/runs/${run}/members`);
  const problem = await first(`/runs/${run}/problems?valid=true`);
  const work = await first(`/work?run=${run}`);
  const worker = await first("/workers?alive=true");
  const experiment = await first("/experiments");
  const evaluation = await first("/evaluations");
  const measured = (await lab.api("GET", "/evaluations?state=completed")).items.find((one) => one.spec.type === "benchmark")?.id;
  // With results on the suite by its own name.
  const results = (await Promise.all([run, second].map(async (id) => [id, await lab.api("GET", `/runs/${id}/results`)]))).find(([, { items }]) => items.some((one) => one.suite === "held-out-outputs"));
  const measuredRun = results?.[0];
  const completed = (await lab.api("GET", "/evaluations?state=completed")).items;
  const ofType = (type) => completed.find((one) => one.spec.type === type)?.id;
  const [frozen, retention, regenerated] = [ofType("frozen_side"), ofType("operator_retention"), ofType("regenerate")];
  const judged = (await lab.api("GET", "/runs?limit=100")).items.find((one) => one.recipe === "sage")?.id;
  const climbing = (await lab.api("GET", "/runs?limit=100")).items.find((one) => one.recipe === "gasp")?.id;
  const task = judged && (await first(`/runs/${judged}/problems?valid=true`));
  const ofRun = {
    overview: "", metrics: "/metrics", samples: "/samples", "arms-race": "/arms-race", population: "/population", member: member && `/members/${member}`, lineage: "/lineage",
    "cross-play": "/cross-play", "cross-play-by-cluster": "/cross-play?order=cluster", archive: "/archive",
    "archive-beside": `/archive?beside=${second}&colour=solve_rate`, problems: "/problems", problem: problem && `/problems/${problem}`,
    learnability: "/learnability", "benchmarks-none": "/benchmarks", attempts: "/attempts", export: "/export",
  };
  const pages = {
    lab: "/", "lab-overlay": `/?overlay=${run},${second}`, experiments: "/experiments", experiment: experiment && `/experiments/${experiment}`, "lab-none": "/?state=failed",
    "run-new": "/runs/new", "run-clone": `/runs/new?from=${run}`,
    ...Object.fromEntries(Object.entries(ofRun).filter(([, path]) => path !== undefined).map(([name, path]) => [name, `/runs/${run}${path}`])),
    "all-problems": "/problems", "problems-beside": `/compare/problems?left=${run}&right=${second}&step=1`, "compare-none": "/compare",
    compare: `/compare?runs=${run},${second}`, "compare-baseline": `/compare?runs=${run},${second}&baseline=${run}`, "lab-parallel": "/?columns=config.seed,config.steps,metrics.solve_rate", leaderboard: "/leaderboard", "leaderboard-members": "/leaderboard?by=members", benchmarks: `/runs/${second}/benchmarks`, "result-sampled": `/runs/${second}?curve=pass_at_k`, "samples-of-suite": measuredRun && `/runs/${measuredRun}/samples?suite=held-out-outputs`,
    evaluations: "/evaluations", evaluation: evaluation && `/evaluations/${evaluation}`,
    "evaluation-samples": measured && `/evaluations/${measured}?suite=held-out-outputs&subject=0`, work: "/work", "work-item": work && `/work/${work}`,
    "frozen-side": frozen && `/evaluations/${frozen}`, retention: retention && `/evaluations/${retention}`, regenerate: regenerated && `/evaluations/${regenerated}`,
    curriculum: judged && `/runs/${judged}/curriculum`, "curriculum-part": judged && `/runs/${judged}/curriculum?from=1&to=1`,
    task: task && `/runs/${judged}/problems/${task}`,
    candidates: climbing && `/runs/${climbing}/candidates`, goalposts: climbing && `/runs/${climbing}/goalposts`,
    "goalposts-compared": climbing && `/compare/goalposts?runs=${climbing}`, climb: ofType("goalposts") && `/evaluations/${ofType("goalposts")}`, picks: `/compare/picks?left=${run}&right=${second}`, workers: "/workers", worker: worker && `/workers/${worker}`, alerts: "/alerts", views: "/views", "experiment-new": "/experiments/new", archives: "/archives", suites: "/benchmarks", "evaluation-new": "/evaluations/new", "evaluation-new-benchmark": `/evaluations/new?type=benchmark&run=${run}`, "evaluation-new-retention": "/evaluations/new?type=operator_retention", datasets: "/datasets", adapters: "/adapters", "dataset-new": "/datasets/new", settings: "/settings",
  };
  return Object.entries(pages).filter(([, path]) => path !== undefined);
}
