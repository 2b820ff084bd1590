//! Settings of served samplers.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of served samplers.
#[derive(Clone, Debug)]
pub struct ServedSettings {
    /// Addresses of the servers, such as `http://127.0.0.1:8000`.
    pub servers: Vec<String>,
    /// What they expect as `--api-key`.
    pub key: Option<String>,
    /// The folder of adapters, at the same path for this worker and the servers.
    pub adapters: PathBuf,
    /// Whether servers find adapters in the folder by themselves (vLLM's `lora_filesystem_resolver`), so that they need not
    /// be told one by one. Required if one address stands for several servers.
    pub resolver: bool,
    /// Whether the base model is asked in the name of an adapter of zeros. Required where a server applies some adapter to
    /// requests without one, as vLLM does on a CPU.
    pub base_as_adapter: bool,
    /// Adapters to keep in the folder and on the servers, beside those in use.
    pub kept: usize,
    /// Requests on their way at once.
    pub in_flight: usize,
    /// How long to try again while servers do not answer.
    pub patience: Duration,
    /// The longest time for an answer.
    pub timeout: Duration,
}

impl Default for ServedSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            key: None,
            adapters: PathBuf::new(),
            resolver: false,
            base_as_adapter: false,
            kept: 64,
            in_flight: 256,
            patience: Duration::from_secs(600),
            timeout: Duration::from_secs(1800),
        }
    }
}
