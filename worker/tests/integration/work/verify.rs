use anyhow::{Result, bail};
use lyceum_core::verify::{Check, MathPair, ProblemKind, Proposal, Task};
use lyceum_core::work::{Outcome, Payload, VerifyPayload};

use crate::work::house::{House, TRACE};

#[tokio::test(flavor = "multi_thread")]
async fn the_shipped_worker_judges_what_the_queue_holds_and_signs_off() -> Result<()> {
    let house = House::new().await?;
    let proposal = |id: &str, program: &str| Task {
        id: id.to_owned(),
        check: Check::Propose(Proposal::Io {
            problem: ProblemKind::CodeO,
            program: program.to_owned(),
            input: "3".to_owned(),
        }),
    };
    let number = Task {
        id: "number".to_owned(),
        check: Check::Math(MathPair { gold: "0.5".to_owned(), answer: "\\frac{1}{2}".to_owned(), plain: false }),
    };
    let tasks =
        vec![proposal("good", "def f(x):\n    return x + 1"), proposal("bad", "def f(x):\n    return y"), number];
    let mut worker = house.worker(&["--kinds", "verify", "--jobs", "1"])?;
    let payload = Payload::Verify(VerifyPayload { tasks, ..VerifyPayload::default() });
    let Outcome::Verify(result) = house.done(&mut worker, "check", payload).await? else { bail!("no verdicts") };
    let [good, bad, number] = &result.verdicts[..] else { bail!("not three verdicts: {result:?}") };
    assert_eq!((good.valid, good.output.as_deref()), (Some(true), Some("4")), "{good:?}");
    assert_eq!(bad.valid, Some(false), "{bad:?}");
    assert_eq!(number.correct, Some(true), "{number:?}");

    worker.stop(&house).await?;
    let log = std::fs::read_to_string(house.log())?;
    let of_item = log.lines().find(|line| line.contains("0/check/0/0 ended"));
    assert!(of_item.is_some_and(|line| line.contains(TRACE)), "{log}");
    Ok(())
}
