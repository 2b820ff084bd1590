//! Nothing that a group gives back is taken before it was compared with what was asked for.

use std::collections::BTreeMap;

use anyhow::Result;
use lyceum_core::work::{Outcome, Piece, Trainer};
use lyceum_models::peft::AdapterFiles;
use lyceum_store::artifact::ArtifactStore;
use lyceum_worker::by_hand::ByHandError;
use lyceum_worker::handler::HandlerError;
use lyceum_worker::trainer::Trainers;

use crate::torchrun::stage::{StandIn, failure, run, small, torchrun};

#[tokio::test]
async fn what_fits_is_taken() -> Result<()> {
    let stand_in = StandIn::new("gives-back")?;
    let store = ArtifactStore::in_memory();
    let payload = small(&store).await?;
    let result = run(torchrun(&stand_in.python())?, &store, payload.clone()).await?;
    assert_eq!(result.trainer, Trainer::Torchrun);
    assert!(!Outcome::Update(result.clone()).is_reproducible());
    for (member, updated) in payload.members.iter().zip(&result.members) {
        assert_eq!(updated.version.version, member.to);
        assert_eq!((updated.member, updated.diagnostics.tokens), (member.member, 4));
        // The stand-in gives the weights back as they were, and bytes do not depend on who wrote them.
        let archive = |digest| store.get(digest);
        let before = AdapterFiles::from_archive("before", &archive(member.from.artifact).await?)?;
        let after = AdapterFiles::from_archive("after", &archive(updated.version.artifact).await?)?;
        let tensors = |files: &AdapterFiles| -> Result<BTreeMap<String, Vec<u8>>> {
            let file = safetensors::SafeTensors::deserialize(&files.weights)?;
            let tensors = file.iter().map(|(name, view)| (name.to_owned(), view.data().to_vec()));
            Ok(tensors.collect())
        };
        assert!(tensors(&before)? == tensors(&after)?);
    }

    // A second update goes on from the optimizer states of the first, whose step counts it must add to.
    let mut again = payload.clone();
    for (member, updated) in again.members.iter_mut().zip(&result.members) {
        member.from = updated.version;
    }
    let error = run(torchrun(&stand_in.python())?, &store, again).await.unwrap_err();
    assert!(error.to_string().contains("`step` of out/0/optimizer.safetensors is 1; 2 is valid"), "{error}");
    Ok(())
}

#[tokio::test]
async fn what_does_not_fit_is_refused_by_name() -> Result<()> {
    for (stand_in, reason) in [
        ("misses-a-tensor", "out/1/adapter_model.safetensors has no `base_model.model.model.layers.0."),
        ("adds-a-tensor", "has `base_model.model.lm_head.weight`, which is no part of the adapter"),
        ("changes-a-shape", "of out/1/adapter_model.safetensors is F32 ["),
        ("halves-precision", "of out/1/adapter_model.safetensors is F16 ["),
        ("writes-nan", "of out/1/adapter_model.safetensors is NaN; it must be finite"),
        ("loses-a-step", "`step` of out/1/optimizer.safetensors is 0; 1 is valid"),
        ("misses-a-moment", "out/1/optimizer.safetensors has no `model.layers."),
        ("misses-a-file", "out/1/optimizer.safetensors cannot be read"),
        ("misses-a-member", "out/diagnostics.json has 1 adapters, and 2 learn"),
        ("loses-tokens", "adapter 1 in out/diagnostics.json has learned from 3 tokens, and was given 4"),
        ("reports-nan", "out/diagnostics.json: "),
        ("writes-nothing", "out/diagnostics.json cannot be read"),
    ] {
        let said = failure(&StandIn::new(stand_in)?.python()).await?;
        assert!(said.starts_with("torchrun gives back what was not asked: "), "{stand_in}: {said}");
        assert!(said.contains(reason), "{stand_in}: {said}");
    }
    Ok(())
}

/// An end that may be the device's fault is tried again; a refusal is not.
#[tokio::test]
async fn a_group_that_fails_says_how_and_with_what_last_words() -> Result<()> {
    let store = ArtifactStore::in_memory();
    for (stand_in, reasons, again) in [
        ("exits", ["torchrun ended with exit status: 1", "the last line but one\nthe device is gone"], true),
        ("kills-itself", ["torchrun ended with signal: 9", "It wrote nothing to standard error"], true),
        ("refuses", ["torchrun refuses the update", "id -1 is outside the vocabulary of 300 (member 0)"], false),
    ] {
        let interpreter = StandIn::new(stand_in)?;
        let trainer = torchrun(&interpreter.python())?;
        let error = run(trainer, &store, small(&store).await?).await.unwrap_err();
        for reason in reasons {
            assert!(error.to_string().contains(reason), "{stand_in}: {error}");
        }
        let ByHandError::Failed(error) = error else { panic!("{error}") };
        assert_eq!(matches!(error, HandlerError::Transient(_)), again, "{stand_in}");
    }
    Ok(())
}

#[tokio::test]
async fn an_interpreter_that_cannot_train_is_refused_before_there_is_work() -> Result<()> {
    let unfit = torchrun(&StandIn::new("has-no-torch")?.python()).err().unwrap().to_string();
    assert!(unfit.contains("(--torchrun-python): it has no torch, peft"), "{unfit}");
    let missing = torchrun("/there/is/no/python".as_ref()).err().unwrap().to_string();
    assert!(missing.starts_with("/there/is/no/python cannot be started (--torchrun-python)"), "{missing}");
    Ok(())
}

#[tokio::test]
async fn what_torchrun_does_not_do_and_who_has_no_torchrun_say_so() -> Result<()> {
    let store = ArtifactStore::in_memory();
    let mut payload = small(&store).await?;
    let error = run(Trainers::default(), &store, payload.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), "this worker does not have the trainer `torchrun` (`compute.trainer`)");
    payload.piece = Some(Piece::Gradient { index: 0, of: 2 });
    let stand_in = StandIn::new("gives-back")?;
    let error = run(torchrun(&stand_in.python())?, &store, payload).await.unwrap_err();
    assert!(error.to_string().contains("`items.gradient_pieces`"), "{error}");
    Ok(())
}
