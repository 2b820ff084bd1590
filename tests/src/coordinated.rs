//! A coordinator in the test's own process.

use anyhow::Result;
use lyceum_core::recipe::Registry;
use lyceum_server::coordinator::Coordinator;
use lyceum_server::lab::Pace;
use lyceum_server::serve::begin_scheduled;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::listener::{Listener, Listening};

use crate::house::House;

/// A coordinator that runs until it is stopped.
pub struct Coordinated {
    coordinator: Coordinator,
    _listening: Listening,
}

impl House {
    /// Starts a coordinator that knows these recipes.
    pub fn coordinate(&self, registry: Registry) -> Result<Coordinated> {
        let artifacts = ArtifactStore::folder(&self.artifacts(), self.pool().clone())?;
        let mut listener = Listener::new(self.pool());
        let coordinator = Coordinator::start(
            self.store.clone(),
            artifacts,
            registry,
            begin_scheduled,
            Pace::default(),
            &mut listener,
        );
        Ok(Coordinated { coordinator, _listening: listener.start() })
    }
}

impl Coordinated {
    /// Ends it when what it does now is done.
    pub async fn stop(self) {
        self.coordinator.stop().await;
    }
}
