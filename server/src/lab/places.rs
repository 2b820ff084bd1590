//! How many large bodies are received at once.

use lyceum_store::tokens::Scope;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// The places of large bodies that are received at once. Workers have their own, so that uploads of others never stop their items.
#[derive(Debug)]
pub(crate) struct Places {
    of_workers: Pool,
    of_others: Pool,
}

impl Places {
    /// `each` for workers and for all others.
    pub(crate) fn new(each: usize) -> Self {
        Self { of_workers: Pool::new(each), of_others: Pool::new(each) }
    }

    /// Those for a token of this scope.
    pub(crate) fn of(&self, scope: Scope) -> &Pool {
        if scope == Scope::Worker { &self.of_workers } else { &self.of_others }
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        [&self.of_workers, &self.of_others].map(|pool| pool.size - pool.all.available_permits()).iter().sum()
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) size: usize,
    pub(crate) all: Arc<Semaphore>,
    /// Half of the places for each token that holds or awaits one.
    of_tokens: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Pool {
    fn new(size: usize) -> Self {
        Self { size, all: Arc::new(Semaphore::new(size)), of_tokens: Mutex::default() }
    }

    /// The most that one token may hold.
    pub(crate) fn share(&self) -> usize {
        self.size.div_ceil(2)
    }

    pub(crate) fn of_token(&self, token: Uuid) -> Arc<Semaphore> {
        let mut known = self.of_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = known.get(&token).and_then(Weak::upgrade) {
            return held;
        }
        known.retain(|_, held| held.strong_count() > 0);
        let made = Arc::new(Semaphore::new(self.share()));
        known.insert(token, Arc::downgrade(&made));
        made
    }
}
