//! Compares ratings with the `trueskill` package; `fixtures/make_ratings.py` wrote the expected values.

use lyceum_core::rating::{Rating, TrueSkillConfig};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    players: usize,
    every: usize,
    /// Winner and loser.
    matchups: Vec<(usize, usize)>,
    /// Mu and sigma of every player at regular intervals.
    checkpoints: Vec<Vec<(f64, f64)>>,
    /// Two ratings and the probability that the first wins.
    predictions: Vec<(f64, f64, f64, f64, f64)>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../fixtures/ratings.json")).unwrap()
}

#[test]
fn ten_thousand_matchups_rate_as_the_trueskill_package_does() {
    let fixture = fixture();
    assert_eq!(fixture.matchups.len(), 10_000);
    let config = TrueSkillConfig::default();
    let mut ratings = vec![config.prior(); fixture.players];
    for (index, &(winner, loser)) in fixture.matchups.iter().enumerate() {
        (ratings[winner], ratings[loser]) = config.after(ratings[winner], ratings[loser]);
        if (index + 1) % fixture.every != 0 {
            continue;
        }
        for (player, (mu, sigma)) in fixture.checkpoints[index / fixture.every].iter().enumerate() {
            let Rating { mu: our_mu, sigma: our_sigma } = ratings[player];
            assert!(
                (our_mu - mu).abs() < 1e-6 && (our_sigma - sigma).abs() < 1e-6,
                "player {player} after {index} matchups: {our_mu} ± {our_sigma}, not {mu} ± {sigma}"
            );
        }
    }
}

#[test]
fn predictions_are_the_normal_distributions() {
    let config = TrueSkillConfig::default();
    for (mu, sigma, other_mu, other_sigma, expected) in fixture().predictions {
        let other = Rating { mu: other_mu, sigma: other_sigma };
        let predicted = config.win_probability(Rating { mu, sigma }, other);
        assert!((predicted - expected).abs() < 1e-6, "{predicted}, not {expected}");
    }
}
