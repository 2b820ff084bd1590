//! Runs the recipe `populora` with scripted players and prints the outcome.
//!
//! `cargo run --release -p lyceum-core --example simulate -- [STEPS] [TEACHERS] [STUDENTS]`

use lyceum_core::config;
use lyceum_core::id::MemberId;
use lyceum_core::recipe::{Populora, Recipe as _, Registry, Role};
use lyceum_core::simulation::{Order, Players, Simulation, SimulationError, Skill};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let mut next = |default| sizes.next().unwrap_or(Ok(default));
    let (steps, teachers, students) = (next(2000)?, next(8)?, next(8)?);
    let started = Instant::now();
    let fixed = Tournament::play(steps, teachers, students, 0)?;
    println!("{steps} steps of {teachers}T+{students}S, 24 problems a matchup, 8 samples, no evolution:");
    println!("  wall-clock {:.1} s", started.elapsed().as_secs_f64());
    println!(
        "  Spearman of mu and skill: teachers {:.3}, students {:.3}",
        fixed.order(Role::Teacher),
        fixed.order(Role::Student)
    );
    println!(
        "  mean |log-odds| of solving in matchups drawn: {:.2}, in random ones: {:.2}",
        fixed.imbalance_drawn, fixed.imbalance_random
    );
    let started = Instant::now();
    let evolved = Tournament::play(steps, teachers, students, 10)?;
    println!("the same, evolving every 10 steps:");
    println!("  wall-clock {:.1} s, {} births", started.elapsed().as_secs_f64(), evolved.births);
    for role in [Role::Teacher, Role::Student] {
        let (before, after) = (fixed.mean_skill(role), evolved.mean_skill(role));
        println!("  mean skill of {}s: {before:.2} at first, {after:.2} at the end", role.name());
    }
    println!("  slowest step {:.3} s, coverage {:.3}", evolved.slowest.max(fixed.slowest), evolved.coverage);
    Ok(())
}

/// The outcome of a simulated run.
struct Tournament {
    /// Role, mu and skill of the members alive at the end.
    living: Vec<(Role, f64, f64)>,
    births: usize,
    imbalance_drawn: f64,
    imbalance_random: f64,
    slowest: f64,
    coverage: f64,
}

impl Tournament {
    fn play(steps: u32, teachers: u32, students: u32, every: u32) -> Result<Self, Box<dyn std::error::Error>> {
        let document = json!({
            "recipe": "populora", "seed": 1, "steps": steps,
            "populations": {"main": {
                "base_model": {"name": "scripted"},
                "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
                "members": [{"roles": ["teacher"], "count": teachers}, {"roles": ["student"], "count": students}],
            }},
            "parameters": {
                "prompts": {"set": "seedling"},
                "problems": {"references": 2, "num_inputs": 6, "pool_size": 1024, "max_prompt_bytes": 400, "seeds": "seedling"},
                "prompts_per_matchup": 24,
                "proposals_per_prompt": 1,
                "samples_per_problem": 8,
                "evolution": {"every": every},
                "items": {"propose": 192, "solve": 192, "update": 16},
            },
        });
        let config = config::resolve(&document, &Registry::default().with(Populora))?;
        let spread =
            |count: u32| (0..count).map(move |index| Skill(f64::from(index) * 3.0 / f64::from(count.max(2) - 1) - 1.5));
        let players = Players::new(spread(teachers).chain(spread(students)).collect());
        let mut simulation = Simulation::new(&Populora, &config, players, Order::Together)?;
        let mut tournament = Self {
            living: Vec::new(),
            births: 0,
            imbalance_drawn: 0.0,
            imbalance_random: 0.0,
            slowest: 0.0,
            coverage: 0.0,
        };
        tournament.run(&mut simulation, steps)?;
        Ok(tournament)
    }

    fn run(&mut self, simulation: &mut Simulation<'_>, steps: u32) -> Result<(), SimulationError> {
        let mut skills: BTreeMap<MemberId, (Role, f64)> = BTreeMap::new();
        let mut mus: BTreeMap<MemberId, f64> = BTreeMap::new();
        let (mut drawn, mut random) = (Vec::new(), Vec::new());
        let coverage = Populora.metrics().iter().position(|metric| metric.name == "coverage").unwrap_or(0);
        for step in 0..steps {
            let started = Instant::now();
            let done = simulation.step()?;
            self.slowest = self.slowest.max(started.elapsed().as_secs_f64());
            for member in &done.records.members {
                skills.insert(member.id, (member.roles[0], 0.0));
            }
            for version in &done.records.versions {
                if let Some(known) = skills.get_mut(&version.member) {
                    known.1 = simulation.players.skill(version.id).0;
                }
            }
            mus.extend(done.records.ratings.iter().map(|rating| (rating.member, rating.mu)));
            for death in &done.records.deaths {
                mus.remove(&death.member);
            }
            self.births += done.records.births.len();
            // Ratings mean little until every member has played for a while.
            if step >= steps / 4 {
                let gap = |teacher: MemberId, student: MemberId| (skills[&teacher].1 - skills[&student].1).abs();
                drawn.extend(done.records.matchups.iter().map(|matchup| gap(matchup.teacher, matchup.student)));
                for one in &done.records.matchups {
                    random.extend(done.records.matchups.iter().map(|other| gap(one.teacher, other.student)));
                }
            }
            self.coverage = done.records.metrics.last().map_or(0.0, |row| row.values[coverage]);
        }
        let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        (self.imbalance_drawn, self.imbalance_random) = (mean(&drawn), mean(&random));
        self.living = mus.iter().map(|(member, mu)| (skills[member].0, *mu, skills[member].1)).collect();
        Ok(())
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &(Role, f64, f64)> {
        self.living.iter().filter(move |(played, ..)| *played == role)
    }

    fn mean_skill(&self, role: Role) -> f64 {
        self.of(role).map(|(.., skill)| skill).sum::<f64>() / self.of(role).count().max(1) as f64
    }

    /// Spearman's rank correlation of mu and skill.
    fn order(&self, role: Role) -> f64 {
        let rank = |value: fn(&(Role, f64, f64)) -> f64| -> Vec<f64> {
            let all: Vec<f64> = self.of(role).map(value).collect();
            all.iter().map(|one| all.iter().filter(|other| *other < one).count() as f64).collect()
        };
        let (mus, skills) = (rank(|(_, mu, _)| *mu), rank(|(.., skill)| *skill));
        let n = mus.len() as f64;
        let squares: f64 = mus.iter().zip(&skills).map(|(mu, skill)| (mu - skill).powi(2)).sum();
        1.0 - 6.0 * squares / (n * (n * n - 1.0)).max(1.0)
    }
}
