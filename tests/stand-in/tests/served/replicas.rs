//! Several servers.

use anyhow::Result;
use lyceum_core::work::Sampler;
use lyceum_stand_in::Fault;

use crate::stage::{Stage, difference, ids, payload};

#[tokio::test(flavor = "multi_thread")]
async fn servers_share_the_requests_and_one_is_enough() -> Result<()> {
    let stage = Stage::new()?;
    let (one, mut other) = (stage.server().await?, stage.server().await?);
    let served = stage.served(&[&one, &other], |_| {})?;
    let item = payload(&stage.adapters().await?, Sampler::Served);
    let calm = stage.tokens(&stage.run(&served, item.clone()).await?).await?;
    let counts = [one.seen().completions, other.seen().completions];
    assert_eq!(counts.iter().sum::<usize>(), item.requests.len());
    assert!(counts.iter().all(|count| *count >= item.requests.len() / 4), "{counts:?}");
    other.fail(&[Fault::Hang]);
    let running = stage.run(&served, item.clone());
    let killing = async {
        other.until(|seen| seen.hanging == 1).await;
        other.kill()
    };
    let (result, killed) = tokio::join!(running, killing);
    killed?;
    let tokens = stage.tokens(&result?).await?;
    assert_eq!(ids(&tokens), ids(&calm));
    assert!(difference(&tokens, &calm) < 1e-4);
    Ok(())
}
