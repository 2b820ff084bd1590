//! What goes wrong with a server is either made good or said.

use anyhow::Result;
use lyceum_core::work::{RolloutPayload, RolloutRequest, Sampler};
use lyceum_stand_in::Fault;
use std::time::Duration;

use crate::stage::{Stage, difference, ids, payload};

/// Without the requests to the base, which cannot be forgotten.
fn of_adapters(mut item: RolloutPayload) -> RolloutPayload {
    item.requests.retain(|request| request.adapter.is_some());
    item
}

/// Errors, broken connections and forgotten adapters cost time, and change nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_is_tried_again_with_the_same_result() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let served = stage.served(&[&server], |_| {})?;
    let item = of_adapters(payload(&stage.adapters().await?, Sampler::Served));
    let calm = stage.tokens(&stage.run(&served, item.clone()).await?).await?;
    for faults in [
        [Fault::Status(500); 2].as_slice(),
        &[Fault::Status(503); 2],
        &[Fault::Status(429); 2],
        &[Fault::Cut; 2],
        // One at a time: a request that met both would rightly give up.
        &[Fault::Forgotten],
        &[Fault::Forgotten],
    ] {
        let before = server.seen();
        server.fail(faults);
        let tokens = stage.tokens(&stage.run(&served, item.clone()).await?).await?;
        assert_eq!(ids(&tokens), ids(&calm), "{faults:?}");
        assert!(difference(&tokens, &calm) < 1e-4, "{faults:?}");
        let after = server.seen();
        assert!(after.completions > before.completions + item.requests.len(), "{faults:?}: {after:?}");
    }
    Ok(())
}

/// No answer is taken for another's, and none that lacks something.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_fit_fails_the_item() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let served = stage.served(&[&server], |_| {})?;
    let mut item = payload(&[], Sampler::Served);
    // A second request could still be on its way when the item has failed, and would take the next fault.
    item.requests.truncate(1);
    for (fault, said) in [
        (Fault::WrongLengths, "log-probabilities of"),
        (Fault::TooLong, "13 tokens, and 1 to 12 were asked for"),
        (Fault::OtherPrompt, "that is not the one of"),
        (Fault::OtherModel, "completions of `another`"),
        (Fault::TooFew, "2 completions, and 3 were asked for"),
        (Fault::NotFinite, "a log-probability of -9999"),
        (Fault::ShortLength, "the end `length` after 1 tokens, and 12 were asked for"),
        (Fault::Status(400), "answers /v1/completions with 400: on demand"),
    ] {
        server.fail(&[fault]);
        let failure = stage.failure(&served, item.clone()).await;
        assert!(failure.contains(said) && failure.contains(&server.url()), "{fault:?}: {failure}");
    }
    // None of it lasts.
    stage.run(&served, item).await?;
    Ok(())
}

/// An adapter that is gone for good is loaded again once, not for ever.
#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_is_loaded_again_once() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let served = stage.served(&[&server], |_| {})?;
    let adapters = stage.adapters().await?;
    let mut item = payload(&adapters[..1], Sampler::Served);
    item.requests.truncate(1);
    server.fail(&[Fault::Forgotten, Fault::Forgotten]);
    let failure = stage.failure(&served, item.clone()).await;
    assert!(failure.contains("404") && failure.contains("does not exist"), "{failure}");
    assert_eq!(server.seen().loads.len(), 2);
    stage.run(&served, item).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_away_ends_the_try_and_not_the_item() -> Result<()> {
    let stage = Stage::new()?;
    let mut server = stage.server().await?;
    let served = stage.served(&[&server], |settings| settings.patience = Duration::from_millis(300))?;
    let item = payload(&[], Sampler::Served);
    server.kill()?;
    let failure = stage.failure(&served, item.clone()).await;
    assert!(failure.contains("does not answer"), "{failure}");
    server.restart().await?;
    stage.run(&served, item).await?;
    Ok(())
}

/// A server that is killed while it generates, and started anew without adapters.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_be_restarted_in_the_middle_of_an_item() -> Result<()> {
    let stage = Stage::new()?;
    let mut server = stage.server().await?;
    let served = stage.served(&[&server], |_| {})?;
    let item = of_adapters(payload(&stage.adapters().await?, Sampler::Served));
    let calm = stage.tokens(&stage.run(&served, item.clone()).await?).await?;
    server.fail(&[Fault::Hang, Fault::Hang]);
    let running = stage.run(&served, item);
    let restarting = async {
        server.until(|seen| seen.hanging == 2).await;
        server.kill()?;
        server.restart().await
    };
    let (result, restarted) = tokio::join!(running, restarting);
    restarted?;
    let tokens = stage.tokens(&result?).await?;
    assert_eq!(ids(&tokens), ids(&calm));
    assert!(difference(&tokens, &calm) < 1e-4);
    assert!(server.seen().loads.len() > 3, "adapters are loaded again: {:?}", server.seen());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_is_given_up_ends_its_requests() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let served = stage.served(&[&server], |_| {})?;
    let mut item = payload(&[], Sampler::Served);
    let request = item.requests[0].clone();
    item.requests = (0..5).map(|number| RolloutRequest { id: number.to_string(), ..request.clone() }).collect();
    server.fail(&[Fault::Hang; 5]);
    tokio::select! {
        done = stage.run(&served, item) => panic!("{done:?}"),
        () = server.until(|seen| seen.hanging == 5) => {}
    }
    // The item was dropped just now.
    server.until(|seen| seen.aborted == 5).await;
    Ok(())
}
