//! A critic's scores.

use lyceum_core::prompt::{Field, Rendered};
use lyceum_core::seed;
use lyceum_curriculum::Level;
use lyceum_curriculum::arithmetic::{Flawed, Quality, flawed_plan};

use super::evaluation::Evaluator;
use super::figures::Critic;
use crate::command::pretrain::figures::share;

impl Evaluator<'_> {
    pub(super) fn question_critic(&self) -> anyhow::Result<Critic> {
        let path = "evaluation/question-critic";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let mut asked = Vec::new();
        for exercise in Level::ALL
            .into_iter()
            .flat_map(|level| self.exercises(level, self.config.evaluation.critiques))
        {
            let quality = Quality::draw(&mut rng);
            let Flawed { question, answer } = Flawed::question(&exercise, quality, &mut rng);
            asked.push((quality, self.prompts.critique_question(&question, &answer)?));
        }
        self.critic(path, asked)
    }

    pub(super) fn plan_critic(&self) -> anyhow::Result<Critic> {
        let path = "evaluation/plan-critic";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let mut asked = Vec::new();
        for exercise in Level::ALL
            .into_iter()
            .flat_map(|level| self.exercises(level, self.config.evaluation.critiques))
        {
            let (plan, quality) = flawed_plan(&exercise, Quality::draw(&mut rng), &mut rng);
            asked.push((quality, self.prompts.critique_plan(&exercise.question, &plan)?));
        }
        self.critic(path, asked)
    }

    fn critic(&self, path: &str, asked: Vec<(Quality, Rendered)>) -> anyhow::Result<Critic> {
        let (qualities, prompts): (Vec<Quality>, Vec<Rendered>) = asked.into_iter().unzip();
        let texts = self.complete(path, prompts, 1, 1.0)?;
        let scores = texts.iter().flatten().map(|text| {
            let score: u8 = self.field(text, Field::first("score"))?.parse().ok()?;
            (1..=10).contains(&score).then_some(score)
        });
        let scored: Vec<(Quality, u8)> = qualities
            .iter()
            .zip(scores)
            .filter_map(|(quality, score)| Some((*quality, score?)))
            .collect();
        let of = |wanted: Quality| {
            scored
                .iter()
                .filter(move |(quality, _)| *quality == wanted)
                .map(|(_, score)| *score)
        };
        let mean = |wanted| share(of(wanted).map(usize::from).sum(), of(wanted).count());
        let sound: Vec<u8> = of(Quality::Sound).collect();
        let unsound: Vec<u8> = of(Quality::Bad).chain(of(Quality::Doubtful)).collect();
        Ok(Critic {
            asked: qualities.len(),
            well_formed: share(scored.len(), qualities.len()),
            auc: auc(&sound, &unsound),
            means: [Quality::Bad, Quality::Doubtful, Quality::Sound].map(mean),
        })
    }
}

/// The chance that one of the first has a higher score than one of the second; ties count half.
fn auc(higher: &[u8], lower: &[u8]) -> f64 {
    let pairs = higher
        .iter()
        .flat_map(|above| lower.iter().map(move |below| above.cmp(below)));
    let halves: usize = pairs
        .map(|order| match order {
            std::cmp::Ordering::Greater => 2,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Less => 0,
        })
        .sum();
    share(halves, 2 * higher.len() * lower.len())
}

#[cfg(test)]
mod tests {
    use super::auc;

    #[test]
    fn ties_count_half() {
        assert_eq!(auc(&[9, 8], &[1, 2]), 1.0);
        assert_eq!(auc(&[1], &[9]), 0.0);
        assert_eq!(auc(&[5, 9], &[5]), 0.75);
        assert_eq!(auc(&[], &[5]), 0.0);
    }
}
