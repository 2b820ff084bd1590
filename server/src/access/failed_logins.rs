//! A limit on wrong tokens by address. Right ones are never held up: the limit is on guesses, not on people.

use governor::{Quota, RateLimiter, clock::Clock as _, clock::DefaultClock, state::keyed::DashMapStateStore};
use std::{net::IpAddr, num::NonZeroU32, time::Duration};

/// Wrong tokens of the last minute, by address.
#[derive(Debug)]
pub(crate) struct FailedLogins(RateLimiter<IpAddr, DashMapStateStore<IpAddr>, DefaultClock>);

impl FailedLogins {
    /// Lets `per_minute` wrong tokens through as such; further ones are told to wait.
    pub(crate) fn new(per_minute: NonZeroU32) -> Self {
        Self(RateLimiter::keyed(Quota::per_minute(per_minute)))
    }

    /// Notes a wrong token of `address`.
    ///
    /// # Errors
    /// How long to wait, when there were too many.
    pub(crate) fn note(&self, address: IpAddr) -> Result<(), Duration> {
        // Addresses that have been quiet for a minute need not be remembered.
        if self.0.len() > 10_000 {
            self.0.retain_recent();
        }
        self.0
            .check_key(&address)
            .map_err(|refused| refused.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_held_up_after_its_share_and_another_is_not() {
        let failures = FailedLogins::new(NonZeroU32::new(3).unwrap());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        assert!((0..3).all(|_| failures.note(one).is_ok()));
        // One more is let through for each twenty seconds that this takes.
        let wait = std::iter::repeat_with(|| failures.note(one)).find_map(Result::err);
        assert!(wait.is_some_and(|wait| wait <= Duration::from_secs(20)));
        assert!(failures.note(other).is_ok());
    }
}
