//! Models, adapter populations, generation and learning on libtorch.
