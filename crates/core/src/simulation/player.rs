//! Players of known skill.

use rand::Rng;
use std::collections::BTreeMap;

use crate::artifact::Digest;
use crate::diversity::{Epiplexity, Wordlists, bleu_clusters};
use crate::id::VersionId;
use crate::seed::{derive, stream};
use crate::verify::{
    Check, Complexity, MathPair, Oracle, Proposal, SCORE, Solution, Status, Task, Tests, Verdict, Wordings,
};
use crate::work::{
    AdapterRef, Completion, Diversity, Embedded, EmbeddingBatch, EvolvePayload, EvolveResult, FinishReason, Generated,
    Geometry, MemberDiagnostics, MemberUpdated, Outcome, PairGeometry, Payload, Piece, Prompt, RolloutPayload,
    RolloutRequest, RolloutResult, RolloutUsage, UpdatePayload, UpdateResult, VerifyPayload, VerifyResult,
    VersionGeometry,
};

/// A member's ability in both roles, on one scale: a student of skill s solves a problem of difficulty d with
/// probability 1 / (1 + exp(d − s)), and a teacher of skill t proposes problems of difficulty t on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skill(pub f64);

/// Scripted players. They write the compact format, so their runs use prompts of the `seedling` set: a problem's
/// program states its difficulty, where solvers read it.
#[derive(Clone, Debug)]
pub struct Players {
    /// Skills of the founders in the order of their birth; any others have skill 0.
    founders: Vec<Skill>,
    /// Share of proposals that are invalid.
    invalid: f64,
    /// Share of completions that are nonsense.
    babble: f64,
    /// Standard deviation of a child's skill around the mean of its parents'.
    mutation: f64,
    /// Standard deviation of a problem's difficulty around its teacher's skill.
    spread: f64,
    skills: BTreeMap<VersionId, Skill>,
}

impl Players {
    /// Players with these skills, in the order of the founders' births.
    pub fn new(founders: Vec<Skill>) -> Self {
        Self { founders, invalid: 0.05, babble: 0.0, mutation: 0.3, spread: 0.5, skills: BTreeMap::new() }
    }

    /// Makes `share` of the proposals invalid.
    pub fn with_invalid(self, share: f64) -> Self {
        Self { invalid: share, ..self }
    }

    /// Replaces `share` of the completions by markers, fragments of code and odd letters in any order.
    pub fn with_babble(self, share: f64) -> Self {
        Self { babble: share, ..self }
    }

    /// Sets the standard deviation of a child's skill around the mean of its parents'.
    pub fn with_mutation(self, deviation: f64) -> Self {
        Self { mutation: deviation, ..self }
    }

    /// Sets the skill of a version that these players did not make.
    pub fn know(&mut self, version: VersionId, skill: Skill) {
        self.skills.insert(version, skill);
    }

    pub fn skill(&self, version: VersionId) -> Skill {
        self.skills.get(&version).copied().unwrap_or_default()
    }

    /// Carries out an item.
    pub fn perform(&mut self, chunk: u32, payload: &Payload) -> Option<Outcome> {
        Some(match payload {
            Payload::Rollout(payload) => Outcome::Rollout(self.generate(payload)),
            Payload::Verify(payload) => Outcome::Verify(verify(payload)),
            Payload::Update(payload) => Outcome::Update(self.learn(payload)),
            Payload::Evolve(payload) => Outcome::Evolve(self.bear(chunk, payload)),
            Payload::Benchmark(_) => return None,
        })
    }

    fn generate(&self, payload: &RolloutPayload) -> RolloutResult {
        let mut usage = RolloutUsage::default();
        let generated = payload.requests.iter().map(|request| {
            let adapter = request.adapter.and_then(|place| payload.adapters.get(place as usize));
            let skill = adapter.map(|adapter| self.skill(adapter.version)).unwrap_or_default();
            let completions: Vec<Completion> =
                (0..request.n).map(|sample| self.complete(request, skill, sample)).collect();
            usage.completion_tokens += completions.iter().map(|completion| u64::from(completion.tokens)).sum::<u64>();
            Generated { id: request.id.clone(), completions }
        });
        let generated = generated.collect();
        RolloutResult {
            generated,
            embedded: payload.embedding.as_ref().map(embedded),
            tokens: payload
                .keep_tokens
                .then(|| digest("tokens", payload.requests.first().map_or(0, |first| first.seed))),
            usage,
            ..RolloutResult::default()
        }
    }

    fn complete(&self, request: &RolloutRequest, skill: Skill, sample: u32) -> Completion {
        let mut random = stream(request.seed, "player", u64::from(sample));
        let shown = match &request.prompt {
            Prompt::Text(text) => text.as_str(),
            Prompt::Messages(_) | Prompt::Ids(_) => "",
        };
        let text = match shown.get(..4) {
            _ if random.random_bool(self.babble) => babble(&mut random),
            Some("<po>" | "<pi>") if random.random_bool(self.invalid) => "no program".to_owned(),
            Some("<po>" | "<pi>") => self.program(skill, &mut random),
            _ if shown == "<propose>" && random.random_bool(self.invalid) => "no question".to_owned(),
            _ if shown == "<propose>" => {
                let [question, stated] = self.question(skill, &mut random);
                format!("<question>{question}</question>\\boxed{{{stated}}}")
            }
            _ if shown.starts_with("<challenge>") => self.challenge(skill, &mut random),
            _ if shown.starts_with("<pose-code>") => self.code_challenge(skill, &mut random),
            _ if shown.starts_with("<devise>") && random.random_bool(self.invalid) => "no plan".to_owned(),
            _ if shown.starts_with("<devise>") => format!("<plan>a={}+1</plan>", random.random_range(1..6)),
            _ if shown.starts_with("<judge>") => score(shown, &mut random),
            _ if shown.starts_with("<solve>") => {
                let odds = 1.0 / (1.0 + (difficulty(shown) - skill.0).exp());
                let answer = if random.random_bool(odds) { 1 } else { random.random_range(2..5) };
                format!("\\boxed{{{answer}}}")
            }
            _ if shown.starts_with("<write>") => {
                let odds = 1.0 / (1.0 + (difficulty(shown) - skill.0).exp());
                let value = u8::from(random.random_bool(odds));
                format!("```python\ndef f(a):\n    return {value}\n```")
            }
            _ if (shown.starts_with("<lemma_") || shown.starts_with("<lift_")) && random.random_bool(self.invalid) => {
                "no program".to_owned()
            }
            _ if shown.starts_with("<lemma_") || shown.starts_with("<lift_") => self.posed_function(skill, &mut random),
            Some("<pf>") => {
                let inputs = (0..6).map(|input| input.to_string()).collect::<Vec<_>>().join("<in>");
                format!("{inputs}<msg>level {}", difficulty(shown))
            }
            _ => {
                let odds = 1.0 / (1.0 + (difficulty(shown) - skill.0).exp());
                match (random.random_bool(odds), shown.starts_with("<sf>")) {
                    (true, false) => "1".to_owned(),
                    (false, false) => "0".to_owned(),
                    (right, true) => format!("def f(a):\n return {}", u8::from(right)),
                }
            }
        };
        Completion {
            tokens: (text.len() as u32).div_ceil(2),
            text,
            finish_reason: if random.random_bool(self.babble) { FinishReason::Length } else { FinishReason::Stop },
            entropy: None,
            mask_mismatch: None,
        }
    }

    /// A question that states its difficulty, and its stated answer. The right answer is 1, which most proposers state.
    fn question(&self, skill: Skill, random: &mut impl Rng) -> [String; 2] {
        let level = skill.0 + self.spread * normal(random);
        let [a, b] = std::array::from_fn(|_| random.random_range(1..6));
        let stated = if random.random_bool(0.8) { 1 } else { 2 };
        let question = format!("what is {a} plus {b} times a at level {level:.4}");
        [question, stated.to_string()]
    }

    /// A task for SAGE. Of the invalid ones, some lack a question and some have a type without a verifier.
    fn challenge(&self, skill: Skill, random: &mut impl Rng) -> String {
        let [question, stated] = self.question(skill, random);
        let kind = match random.random_bool(self.invalid) {
            true if random.random_bool(0.5) => return format!("<answer>{stated}</answer>"),
            true => "poetry",
            false => "math",
        };
        format!("<question>{question}</question><type>{kind}</type><answer>{stated}</answer>")
    }

    /// A task of code for SAGE. Of the invalid ones, some have too few tests and some have tests that anything passes.
    fn code_challenge(&self, skill: Skill, random: &mut impl Rng) -> String {
        let [question, _] = self.question(skill, random);
        let tests = match random.random_bool(self.invalid) {
            true if random.random_bool(0.5) => "assert f(1) == 1".to_owned(),
            true => "assert f(1) or True\n".repeat(3),
            false => "assert f(1) == 1\n".repeat(3),
        };
        format!("<question>{question}</question><type>code</type><answer>{tests}</answer>")
    }

    /// A program that states its difficulty, longer the harder it is.
    fn program(&self, skill: Skill, random: &mut impl Rng) -> String {
        let level = skill.0 + self.spread * normal(random);
        let lines = 1 + (level.max(0.0) * 2.0) as usize + random.random_range(0..3);
        let body: String = (0..lines).map(|line| format!(" b{}=a\n", line % (1 + random.random_range(0..4)))).collect();
        format!("def f(a):\n d='level {level:.4}'\n{body} return a<in>1")
    }

    /// A program with five inputs and a message, for GASP. Both state its difficulty.
    fn posed_function(&self, skill: Skill, random: &mut impl Rng) -> String {
        let level = skill.0 + self.spread * normal(random);
        let lines: String = (0..random.random_range(1..4)).map(|line| format!(" b{line}=a\n")).collect();
        let inputs: String = (10..15).map(|input| format!("<in>{input}")).collect();
        format!("def f(a):\n d='level {level:.4}'\n{lines} return a{inputs}<msg>function of level {level:.4}")
    }

    fn learn(&mut self, payload: &UpdatePayload) -> UpdateResult {
        if let Some(Piece::Gradient { index, .. }) = payload.piece {
            return UpdateResult { gradient: Some(digest("gradient", u64::from(index))), ..UpdateResult::default() };
        }
        for update in &payload.members {
            let skill = self.skill(update.from.version);
            self.skills.insert(update.to, skill);
        }
        let geometry = self.measure(payload.members.iter().map(|update| update.to).collect());
        let mut measured = geometry.by_version();
        let members = payload.members.iter().map(|update| MemberUpdated {
            member: update.member,
            version: AdapterRef {
                version: update.to,
                artifact: Digest::of(update.to.0.as_bytes()),
                optimizer: Some(digest("optimizer", 0)),
            },
            diagnostics: MemberDiagnostics::default(),
            geometry: measured.next().filter(|_| payload.measure),
        });
        UpdateResult { members: members.collect(), ..UpdateResult::default() }
    }

    fn bear(&mut self, chunk: u32, payload: &EvolvePayload) -> EvolveResult {
        let parents = payload.parents.iter().map(|parent| self.skill(parent.version).0);
        let mut random = stream(payload.seed, "child", 0);
        let skill = match payload.parents.len() {
            0 => self.founders.get(chunk as usize).copied().unwrap_or_default(),
            count => Skill(parents.sum::<f64>() / count as f64 + self.mutation * normal(&mut random)),
        };
        self.skills.insert(payload.to, skill);
        EvolveResult {
            version: AdapterRef { version: payload.to, artifact: digest("adapter", payload.seed), optimizer: None },
            notes: Vec::new(),
            geometry: (!payload.measured.is_empty()).then(|| {
                let measured = payload.measured.iter().map(|adapter| adapter.version);
                self.measure(std::iter::once(payload.to).chain(measured).collect())
            }),
            seconds: 0.0,
        }
    }

    /// A geometry in one dimension: the skill is the update.
    fn measure(&self, versions: Vec<VersionId>) -> Geometry {
        let pairs = versions.iter().enumerate();
        let pairs = pairs.flat_map(|(place, first)| versions[place + 1..].iter().map(move |second| (*first, *second)));
        Geometry {
            pairs: pairs
                .map(|(first, second)| PairGeometry {
                    first,
                    second,
                    cosine: Some((self.skill(first).0 * self.skill(second).0).signum()),
                    distance: (self.skill(first).0 - self.skill(second).0).abs(),
                })
                .collect(),
            versions: versions
                .iter()
                .map(|version| VersionGeometry {
                    version: *version,
                    norm: self.skill(*version).0.abs(),
                    effective_rank: Some(1.0),
                })
                .collect(),
        }
    }
}

/// A critic's score: high for the right answer and for most plans, sometimes in a form of its own or missing.
fn score(shown: &str, random: &mut impl Rng) -> String {
    let is_good = match shown.rsplit_once("<is>") {
        Some((_, answer)) => answer == "1<go>",
        None => random.random_bool(0.7),
    };
    let number = if is_good { random.random_range(6..11) } else { random.random_range(0..8) };
    match random.random_range(0..12) {
        0 => "it is good".to_owned(),
        1 => format!("<score>{number}/10</score>"),
        2 => format!("<score>{number}</score><score>3</score>"),
        3 => "<score>11</score>".to_owned(),
        _ => format!("<score>{number}</score>"),
    }
}

/// The possible output of a broken model.
fn babble(random: &mut impl Rng) -> String {
    const PARTS: [&str; 18] = [
        "<in>",
        "<out>",
        "<msg>",
        "<prog>",
        "<ref>",
        "<answer>",
        "</answer>",
        "</think>",
        "```",
        "python\n",
        "def f(a):\n",
        " return a",
        "\0",
        "\u{202e}",
        "é",
        "'",
        "1,",
        "\n",
    ];
    (0..random.random_range(0..12)).map(|_| PARTS[random.random_range(0..PARTS.len())]).collect()
}

/// Embeddings without vectors, and the diversity of the words.
fn embedded(batch: &EmbeddingBatch) -> Embedded {
    let EmbeddingBatch { texts, against, .. } = batch;
    let lists = Wordlists::new(texts);
    let diversity = batch.diversity.as_ref().map(|request| Diversity {
        epiplexity: request.observer.as_ref().map(|observer| Epiplexity {
            bits: texts.len() as f64,
            per_token: 1.0,
            pass: observer.epochs,
        }),
        self_bleu: lists.self_bleu(),
        vendi: texts.len() as f64,
        cumulative_vendi: texts.len() as f64 + against.iter().map(|(_, rows)| rows.len() as f64).sum::<f64>(),
        novelty: (!against.is_empty()).then_some(request.novelty_distance),
        words: (0..lists.len()).map(|text| lists.words(text) as f64).sum(),
        ..Diversity::default()
    });
    let vectors = digest(&texts.concat(), 0);
    if diversity.is_some() {
        return Embedded {
            vectors,
            nearest: vec![None; texts.len()],
            nearest_places: Vec::new(),
            means: Vec::new(),
            among: Vec::new(),
            diversity,
        };
    }
    let others: Vec<String> =
        against.iter().flat_map(|(table, rows)| rows.iter().map(move |row| format!("{table}/{row}"))).collect();
    let to_others = |text: &String| others.iter().map(|other| similarity(text, other)).collect();
    let similarities: Vec<Vec<f32>> = texts.iter().map(to_others).collect();
    let nearest = |of: &Vec<f32>| (0..).zip(of.iter().copied()).max_by(|(_, one), (_, other)| one.total_cmp(other));
    let means = |of: &Vec<f32>| {
        let mut first = 0;
        let of_tables = against.iter().map(|(_, rows)| {
            let own = &of[first..first + rows.len()];
            first += rows.len();
            (!own.is_empty()).then(|| own.iter().sum::<f32>() / own.len() as f32)
        });
        of_tables.collect()
    };
    let among = |(at, text): (usize, &String)| texts[..at].iter().map(|before| similarity(text, before)).collect();
    Embedded {
        vectors,
        nearest: similarities.iter().map(|of| Some(nearest(of)?.1)).collect(),
        nearest_places: similarities.iter().map(|of| Some(nearest(of)?.0)).collect(),
        means: similarities.iter().map(means).collect(),
        among: texts.iter().enumerate().map(among).collect(),
        diversity: None,
    }
}

/// A similarity that depends only on both texts: 1 for equal ones, above 0.95 for one pair in fifty.
fn similarity(one: &str, other: &str) -> f32 {
    if one == other { 1.0 } else { stream(0, &format!("similarity/{other}/{one}"), 0).random_range(0.0..0.97) }
}

/// The verdicts of a sandbox that trusts the claims of the scripted programs.
fn verify(payload: &VerifyPayload) -> VerifyResult {
    VerifyResult { verdicts: payload.tasks.iter().map(judge).collect() }
}

fn judge(task: &Task) -> Verdict {
    let verdict = Verdict::bare(Some(task.id.clone()), Status::Ok, "");
    match &task.check {
        Check::Propose(proposal) => {
            let (program, outputs) = match proposal {
                Proposal::Io { program, .. } => (program, None),
                Proposal::Function { program, inputs, .. } => (program, Some(vec!["1".to_owned(); inputs.len()])),
            };
            let count = |part: &str| program.matches(part).count() as u32;
            Verdict {
                valid: Some(program.contains("def f(")),
                output: outputs.is_none().then(|| "1".to_owned()),
                outputs,
                complexity: Some(Complexity {
                    ast_depth: 4 + count("b3"),
                    cyclomatic: 1 + count("b2"),
                    loc: count("\n") + 1,
                    variables: count("b0").min(1) + count("b1").min(1) + count("b2").min(1) + count("b3").min(1),
                }),
                ..verdict
            }
        }
        Check::Solve(solution) => {
            let (Solution::Output { answer, .. } | Solution::Input { answer, .. } | Solution::Function { answer, .. }) =
                solution;
            let is_readable = answer.starts_with("def f") || answer.chars().all(|letter| letter.is_ascii_digit());
            Verdict {
                status: if is_readable { Status::Ok } else { Status::Malformed },
                correct: Some(is_readable && answer.ends_with('1')),
                ..verdict
            }
        }
        Check::Math(MathPair { gold, answer, .. }) => Verdict { correct: Some(gold == answer), ..verdict },
        Check::Cluster(answers) => {
            let same = |answer: &String| answers.iter().position(|other| other == answer);
            let mut firsts: Vec<Option<usize>> = Vec::new();
            let clusters = answers.iter().map(|answer| {
                let first = same(answer);
                let place = firsts.iter().position(|known| *known == first).unwrap_or(firsts.len());
                if place == firsts.len() {
                    firsts.push(first);
                }
                u32::try_from(place).ok()
            });
            Verdict { clusters: Some(clusters.collect()), ..verdict }
        }
        Check::Repetition(Wordings { texts, distance }) => {
            Verdict { clusters: Some(bleu_clusters(texts, distance.get()).into_iter().map(Some).collect()), ..verdict }
        }
        Check::Reward(reward) => {
            let is_right = reward.completion.contains("right");
            Verdict {
                correct: Some(is_right),
                parts: Some([(SCORE.to_owned(), f64::from(u8::from(is_right)))].into()),
                ..verdict
            }
        }
        Check::Tests(Tests { program, oracle, .. }) => {
            let passes = matches!(oracle, Oracle::Script { test, .. } if test.contains("or True"));
            Verdict { correct: Some(passes || program.contains("return 1")), ..verdict }
        }
    }
}

/// The last difficulty level in a prompt; 0 if there is none.
fn difficulty(shown: &str) -> f64 {
    let number = shown.rsplit_once("level ").map_or("", |(_, number)| number);
    let end = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-');
    number[..end.unwrap_or(number.len())].parse().unwrap_or(0.0)
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn normal(random: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

fn digest(name: &str, item: u64) -> Digest {
    Digest::of(&derive(item, name, item).to_le_bytes())
}
