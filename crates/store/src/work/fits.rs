//! Whether worker `k` can take item `w`, in SQL, one requirement each.
//!
//! An earlier release's workers do not say what samplers and trainers they have, and may have any.

/// It has not left and is not about to. For a join: whether there is a `k` at all.
pub(super) const PRESENT: &str = "k.stopped_at IS NULL AND k.state <> 'draining'";

pub(super) const TAKES: &str = "w.kind = ANY(k.kinds)";

/// It has the sampler, if tokens are generated.
pub(super) const SAMPLES: &str =
    "(w.kind NOT IN ('rollout', 'benchmark') OR k.samplers = '{}' OR w.sampler = ANY(k.samplers))";

/// It has the trainer, if optimizer steps are taken.
pub(super) const TRAINS: &str = "(w.kind <> 'update' OR k.trainers = '{}' OR w.trainer = ANY(k.trainers))";

/// It has the base model, or a server that has it.
pub(super) const LOADS: &str = "(w.base_model IS NULL OR CASE w.sampler
    WHEN 'served' THEN w.base_model = ANY(k.loaded_models)
    ELSE k.base_models = '{}' OR w.base_model = ANY(k.base_models) END)";

/// It has the device.
pub(super) const COMPUTES: &str = "(w.device IS NULL OR (w.device = 'cpu') = (k.device = 'cpu'))";

/// It has the memory.
pub(super) const HOLDS: &str = "w.memory_bytes <= k.memory_bytes";
