//! Scripted stand-ins for engine and verifier. Their results depend only on the payload.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::simulation::{Players, Skill};
use lyceum_core::verify::{Check, Status, Task, Verdict};
use lyceum_core::work::{
    AdapterRef, Completion, EvolvePayload, EvolveResult, FinishReason, Generated, MemberDiagnostics, MemberUpdated,
    Outcome, Piece, Prompt, RolloutPayload, RolloutResult, RolloutUsage, UpdatePayload, UpdateResult, VerifyPayload,
    VerifyResult, WorkKind,
};
use lyceum_worker::handler::{Context, Handler, HandlerError, Handlers};
use sqlx::{Connection as _, PgConnection, PgPool};
use std::sync::Arc;
use std::time::Duration;

/// Handlers of all kinds that the scripts use. Each item takes `pause`, and its start and end are recorded in the table
/// `diary`, so tests see everything that was done, not only what was kept.
pub fn all(pause: Duration, diary: &PgPool) -> Handlers {
    fn noted<H: Handler>(handler: H, pause: Duration, diary: &PgPool) -> Noted<H> {
        Noted { handler: Arc::new(handler), pause, diary: diary.clone() }
    }
    Handlers::default()
        .with(noted(Roller(diary.clone()), pause, diary))
        .with(noted(Judge, pause, diary))
        .with(noted(Learner, pause, diary))
        .with(noted(Evolver, pause, diary))
}

/// Pauses before each item, and records its start and end.
struct Noted<H> {
    handler: Arc<H>,
    pause: Duration,
    diary: PgPool,
}

impl<H: Handler> Handler for Noted<H> {
    const KIND: WorkKind = H::KIND;
    type Payload = H::Payload;
    type Outcome = H::Outcome;

    async fn run(self: Arc<Self>, payload: H::Payload, context: Context) -> Result<H::Outcome, HandlerError> {
        note(&self.diary, &context, "begin").await;
        tokio::time::sleep(self.pause).await;
        context.progress(0.5, "half way");
        let outcome = Arc::clone(&self.handler).run(payload, context.clone()).await?;
        note(&self.diary, &context, "end").await;
        Ok(outcome)
    }
}

/// Records an event, as soon as the test allows it ([`crate::house::House::hold_at`]).
async fn note(diary: &PgPool, context: &Context, what: &str) {
    const NOTE: &str = "INSERT INTO diary (item, attempt, what) SELECT $1, $2, $3 FROM pace
        WHERE entries IS NULL OR entries > (SELECT count(*) FROM diary)";
    loop {
        let noted = sqlx::query(NOTE)
            .bind(context.key.to_string())
            .bind(context.attempt.cast_signed())
            .bind(what)
            .execute(diary)
            .await;
        match noted {
            Ok(noted) if noted.rows_affected() == 0 => tokio::time::sleep(Duration::from_millis(10)).await,
            // Tests notice if the diary cannot be written.
            _ => return,
        }
    }
}

/// Plays, or does what its prompts say ([`obey`]).
struct Roller(PgPool);

impl Handler for Roller {
    const KIND: WorkKind = WorkKind::Rollout;
    type Payload = RolloutPayload;
    type Outcome = RolloutResult;

    async fn run(self: Arc<Self>, rollout: RolloutPayload, context: Context) -> Result<RolloutResult, HandlerError> {
        if speaks_compactly(&rollout) { play(rollout, &context).await } else { write(rollout, &context, &self.0).await }
    }
}

struct Judge;

impl Handler for Judge {
    const KIND: WorkKind = WorkKind::Verify;
    type Payload = VerifyPayload;
    type Outcome = VerifyResult;

    async fn run(self: Arc<Self>, verify: VerifyPayload, _: Context) -> Result<VerifyResult, HandlerError> {
        if verify.tasks.iter().any(|task| matches!(task.check, Check::Math(_))) {
            let verdicts = verify.tasks.iter().map(judge).collect();
            return Ok(VerifyResult { verdicts });
        }
        match Players::new(Vec::new()).perform(0, &verify.into()) {
            Some(Outcome::Verify(judged)) => Ok(judged),
            _ => Err(HandlerError::permanent("nobody judges this")),
        }
    }
}

struct Learner;

impl Handler for Learner {
    const KIND: WorkKind = WorkKind::Update;
    type Payload = UpdatePayload;
    type Outcome = UpdateResult;

    async fn run(self: Arc<Self>, update: UpdatePayload, context: Context) -> Result<UpdateResult, HandlerError> {
        learn(update, &context).await
    }
}

struct Evolver;

impl Handler for Evolver {
    const KIND: WorkKind = WorkKind::Evolve;
    type Payload = EvolvePayload;
    type Outcome = EvolveResult;

    async fn run(self: Arc<Self>, evolve: EvolvePayload, context: Context) -> Result<EvolveResult, HandlerError> {
        let weights = format!("weights {}", evolve.seed).into_bytes();
        Ok(EvolveResult {
            version: AdapterRef {
                version: evolve.to,
                artifact: context.put(ArtifactKind::Adapter, weights).await?,
                optimizer: None,
            },
            notes: Vec::new(),
            geometry: None,
            seconds: 0.0,
        })
    }
}

/// New weights are the hash of the old ones and all training data, whether in one item or in pieces.
async fn learn(update: UpdatePayload, context: &Context) -> Result<UpdateResult, HandlerError> {
    let mut lessons = vec![Vec::new(); update.members.len()];
    match &update.piece {
        Some(Piece::Apply { gradients }) => {
            for gradient in gradients {
                let piece: Vec<Vec<u8>> =
                    serde_json::from_slice(&context.get(*gradient).await?).map_err(HandlerError::permanent)?;
                lessons.iter_mut().zip(piece).for_each(|(lesson, part)| lesson.extend(part));
            }
        }
        None | Some(Piece::Gradient { .. }) => {
            let (index, of) = match update.piece {
                Some(Piece::Gradient { index, of }) => (index as usize, of as usize),
                _ => (0, 1),
            };
            for (lesson, member) in lessons.iter_mut().zip(&update.members) {
                let count = member.sequences.len();
                for sequence in &member.sequences[count * index / of..count * (index + 1) / of] {
                    lesson.extend(context.get(sequence.tokens).await?);
                }
            }
        }
    }
    if let Some(Piece::Gradient { .. }) = update.piece {
        let bytes = serde_json::to_vec(&lessons).map_err(HandlerError::permanent)?;
        return Ok(UpdateResult {
            gradient: Some(context.put(ArtifactKind::Gradient, bytes).await?),
            ..UpdateResult::default()
        });
    }
    let mut members = Vec::new();
    for (member, lesson) in update.members.into_iter().zip(lessons) {
        let start = context.get(member.from.artifact).await?;
        let trace = Digest::of(&[start, lesson].concat());
        let weights = format!("learned {trace}").into_bytes();
        let moments = format!("moments {trace}").into_bytes();
        members.push(MemberUpdated {
            member: member.member,
            version: AdapterRef {
                version: member.to,
                artifact: context.put(ArtifactKind::Adapter, weights).await?,
                optimizer: Some(context.put(ArtifactKind::Optimizer, moments).await?),
            },
            diagnostics: MemberDiagnostics::default(),
            geometry: None,
        });
    }
    Ok(UpdateResult { members, ..UpdateResult::default() })
}

async fn write(rollout: RolloutPayload, context: &Context, diary: &PgPool) -> Result<RolloutResult, HandlerError> {
    let mut generated = Vec::new();
    for request in &rollout.requests {
        if let Prompt::Text(word) = &request.prompt {
            obey(word, context, diary).await?;
        }
        let text = format!("{:x}", request.seed);
        let completion =
            Completion { tokens: 1, text, finish_reason: FinishReason::Stop, entropy: None, mask_mismatch: None };
        generated.push(Generated { id: request.id.clone(), completions: vec![completion] });
    }
    let tokens = match rollout.keep_tokens {
        true => Some(context.put(ArtifactKind::Tokens, format!("tokens of {}", context.key).into_bytes()).await?),
        false => None,
    };
    Ok(RolloutResult { generated, embedded: None, compared: None, tokens, usage: RolloutUsage::default() })
}

/// Whether these prompts are of the seedling's set, which scripted players can answer.
fn speaks_compactly(rollout: &RolloutPayload) -> bool {
    let is_compact = |prompt: &Prompt| matches!(prompt, Prompt::Text(text) if text.starts_with('<'));
    rollout.requests.iter().all(|request| is_compact(&request.prompt))
}

/// Players whose skill is derived from the digest of their weights, so it depends only on the payload.
async fn play(rollout: RolloutPayload, context: &Context) -> Result<RolloutResult, HandlerError> {
    let mut players = Players::new(Vec::new()).with_babble(0.05);
    for adapter in &rollout.adapters {
        let weight = adapter.artifact.to_string().bytes().map(u32::from).sum::<u32>() % 31;
        players.know(adapter.version, Skill(f64::from(weight) / 10.0 - 1.5));
    }
    let keep_tokens = rollout.keep_tokens;
    let Some(Outcome::Rollout(mut result)) = players.perform(0, &rollout.into()) else {
        return Err(HandlerError::Permanent("nobody plays this".to_owned()));
    };
    if keep_tokens {
        let bytes = format!("tokens of {}", context.key).into_bytes();
        result.tokens = Some(context.put(ArtifactKind::Tokens, bytes).await?);
    }
    if let Some(embedded) = &mut result.embedded {
        let bytes = format!("vectors of {}", context.key).into_bytes();
        embedded.vectors = context.put(ArtifactKind::Embeddings, bytes).await?;
    }
    Ok(result)
}

async fn obey(word: &str, context: &Context, diary: &PgPool) -> Result<(), HandlerError> {
    let (verb, argument) = word.split_once(' ').unwrap_or((word, ""));
    let time = Duration::from_millis(argument.parse().unwrap_or_default());
    match verb {
        "wait" => tokio::time::sleep(time).await,
        "block" => {
            crowd(context).await?;
            block_until_renewed(diary);
        }
        "panic" => panic!("as the script says"),
        "abort" => std::process::abort(),
        "lack" if context.attempt <= argument.parse().unwrap_or(1) => {
            return Err(HandlerError::LacksBase("the script has no base".to_owned()));
        }
        "refuse" => return Err(HandlerError::Permanent("the script refuses".to_owned())),
        "lose-device" if context.attempt == 1 => {
            return Err(HandlerError::DeviceLost("CUDA error: an illegal memory access was encountered".to_owned()));
        }
        "stumble" if context.attempt == 1 => return Err(HandlerError::Transient("the script stumbles".to_owned())),
        _ => {}
    }
    Ok(())
}

/// Writes artifacts concurrently, so the worker opens connections for them on its handlers' threads.
async fn crowd(context: &Context) -> Result<(), HandlerError> {
    let writes =
        (0..12_u8).map(|index| context.put(ArtifactKind::Samples, format!("{} {index}", context.key).into_bytes()));
    futures::future::try_join_all(writes).await?;
    Ok(())
}

/// Wrongly blocks this thread until a claim has been renewed meanwhile. Polls from another thread, with its own
/// connection.
fn block_until_renewed(database: &PgPool) {
    let options = database.connect_options();
    let look = async move {
        let mut connection = PgConnection::connect_with(&options).await?;
        let mut earliest = async || {
            sqlx::query_scalar::<_, Option<f64>>(
                "SELECT extract(epoch FROM min(lease_until))::float8 FROM work WHERE state = 'running'",
            )
            .fetch_one(&mut connection)
            .await
        };
        let first = earliest().await?;
        while earliest().await? <= first {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok::<_, sqlx::Error>(())
    };
    let looking = std::thread::spawn(|| {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
        threads.map(|threads| threads.block_on(look))
    });
    // If anything fails here, the test sees an item that ended too early or never.
    let _ = looking.join();
}

/// A text is valid if it ends in an even digit.
fn judge(task: &Task) -> Verdict {
    let even = |text: &str| text.ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e']);
    let correct = matches!(&task.check, Check::Math(pair) if even(&pair.answer));
    Verdict { correct: Some(correct), ..Verdict::bare(Some(task.id.clone()), Status::Ok, "") }
}
