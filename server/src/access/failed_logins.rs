//! A limit on wrong tokens per address. Valid tokens are never delayed.

use governor::{Quota, RateLimiter, clock::Clock as _, clock::DefaultClock, state::keyed::DashMapStateStore};
use std::{net::IpAddr, num::NonZeroU32, time::Duration};

/// Wrong tokens in the last minute, by address.
#[derive(Debug)]
pub(crate) struct FailedLogins(RateLimiter<IpAddr, DashMapStateStore<IpAddr>, DefaultClock>);

impl FailedLogins {
    /// Answers up to `per_minute` wrong tokens as such; after that the caller is told to wait.
    pub(crate) fn new(per_minute: NonZeroU32) -> Self {
        Self(RateLimiter::keyed(Quota::per_minute(per_minute)))
    }

    /// Counts a wrong token from `address`.
    ///
    /// # Errors
    /// How long to wait, if there were too many.
    pub(crate) fn note(&self, address: IpAddr) -> Result<(), Duration> {
        // Addresses without a wrong token for a minute are forgotten.
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
        // The limit recovers by one every twenty seconds.
        let wait = std::iter::repeat_with(|| failures.note(one)).find_map(Result::err);
        assert!(wait.is_some_and(|wait| wait <= Duration::from_secs(20)));
        assert!(failures.note(other).is_ok());
    }
}
