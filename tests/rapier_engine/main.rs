//! Behaviour of the rapier engine, and its agreement with the articulated one.

mod agreement;
mod contact;
mod joints;
mod refusals;
mod scenes;
mod snapshots;
