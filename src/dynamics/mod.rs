//! Articulated rigid-body algorithms in reduced coordinates, f64, without rapier.
