//! Physics of worlds on the articulated engine, behaviour by behaviour, at the step sizes people use.

#[path = "../common/mod.rs"]
mod common;

mod contact;
mod friction;
mod joints;
mod momentum;
mod pendulum;
mod platform;
mod standing;
