//! The losses and KL references of updates that come through the queue.

use anyhow::{Result, bail, ensure};
use lyceum_core::work::{AdapterRef, KlReference, Loss, Outcome, Payload, PolicyLoss, RolloutResult, UpdatePayload};
use lyceum_engine::peft::AdapterFiles;
use lyceum_engine::token_batch::TokenBatch;

use crate::work::engine::{adapter_folder, adapters, fixtures, rollout, scored, update, updated};
use crate::work::house::{House, Worker};

/// Adapters, and samples of each of them.
struct Lesson {
    house: House,
    worker: Worker,
    adapters: Vec<AdapterRef>,
    generated: RolloutResult,
}

impl Lesson {
    async fn new() -> Result<Self> {
        let house = House::new().await?;
        let models = fixtures().join("models").display().to_string();
        let mut worker = house.worker(&["--kinds", "rollout,update", "--models", &models, "--device", "cpu"])?;
        let adapters = adapters(&house).await?;
        let outcome = house.done(&mut worker, "propose", Payload::Rollout(rollout(&adapters))).await?;
        let Outcome::Rollout(generated) = outcome else { bail!("a result of kind {}", outcome.kind()) };
        Ok(Self { house, worker, adapters, generated })
    }

    fn payload(&self, loss: Loss) -> Result<UpdatePayload> {
        let payload = update(&self.adapters, &self.generated, None)?;
        Ok(UpdatePayload { loss, ..payload })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_one_update_have_kl_references_of_their_own() -> Result<()> {
    let mut lesson = Lesson::new().await?;
    for (otherwise, kl_reference) in [("base", KlReference::Base), ("start", KlReference::Start)] {
        let loss = Loss::PolicyGradient(PolicyLoss { kl: 0.5, kl_reference, ..PolicyLoss::default() });
        let plain = lesson.payload(loss)?;
        let mut mixed = plain.clone();
        // The reference of the first member is the second's weights; the second takes the one the loss names.
        mixed.members[0].kl_reference = Some(lesson.adapters[1]);
        let alone = |payload: &UpdatePayload, place: usize| UpdatePayload {
            members: vec![payload.members[place].clone()],
            ..payload.clone()
        };
        let payloads =
            [("mixed", mixed.clone()), ("first", alone(&mixed, 0)), ("second", alone(&mixed, 1)), ("plain", plain)];
        let mut diagnostics = Vec::new();
        for (phase, payload) in payloads {
            let phase = format!("{phase}-{otherwise}");
            let result = updated(&lesson.house, &mut lesson.worker, &phase, payload).await?;
            diagnostics.extend(result.members.iter().map(|member| member.diagnostics));
        }
        let [first, second, first_alone, second_alone, plain_first, plain_second] = diagnostics[..] else {
            bail!("{} members learned", diagnostics.len())
        };
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1e-3 + b.abs());
        for (together, separate) in [(first, first_alone), (second, second_alone), (second, plain_second)] {
            ensure!(near(together.kl, separate.kl), "{together:?} {separate:?}");
            ensure!(near(together.grad_norm, separate.grad_norm), "{together:?} {separate:?}");
        }
        ensure!(!near(first.kl, plain_first.kl), "{first:?} {plain_first:?}");
    }
    lesson.worker.stop(&lesson.house).await
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_entropy_makes_every_sample_likelier() -> Result<()> {
    let mut lesson = Lesson::new().await?;
    let mut payload = lesson.payload(Loss::CrossEntropy)?;
    payload.optimizer.epochs = 4;
    // Advantages do not matter.
    for sequence in payload.members.iter_mut().flat_map(|member| &mut member.sequences) {
        sequence.advantage = -1.0;
    }
    assert_eq!(serde_json::to_value(&payload)?["loss"], "cross_entropy");
    let learned = updated(&lesson.house, &mut lesson.worker, "observe", payload.clone()).await?;

    let Some(digest) = lesson.generated.tokens else { bail!("tokens were to be kept") };
    let tokens = TokenBatch::from_bytes(&lesson.house.artifacts()?.get(digest).await?)?;
    for (place, (member, request)) in learned.members.iter().zip(["a", "b"]).enumerate() {
        let archive = lesson.house.artifacts()?.get(member.version.artifact).await?;
        let folder = tempfile::tempdir()?;
        AdapterFiles::from_archive(request, &archive)?.write(folder.path())?;
        let Some(of) = tokens.request(request) else { bail!("no tokens of {request}") };
        let (mut before, mut after) = (0.0, 0.0);
        for sample in &of.samples {
            before += scored(&adapter_folder(place), &of.prompt, &sample.ids)?;
            after += scored(folder.path(), &of.prompt, &sample.ids)?;
        }
        assert!(after > before, "member {request}: {before} to {after}");
    }

    for (member, new) in payload.members.iter_mut().zip(&learned.members) {
        member.from = new.version;
    }
    let again = updated(&lesson.house, &mut lesson.worker, "again", payload).await?;
    for (first, second) in learned.members.iter().zip(&again.members) {
        let (first, second) = (first.diagnostics, second.diagnostics);
        assert!(second.policy_loss < first.policy_loss, "{first:?} {second:?}");
    }
    lesson.worker.stop(&lesson.house).await
}
