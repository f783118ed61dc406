//! Experiments: specs, running, recording, metrics.
