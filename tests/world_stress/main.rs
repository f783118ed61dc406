//! Worlds under stress on the articulated engine: falls, violent motion, repetition to the bit, memory.

#[path = "../common/mod.rs"]
mod common;

mod allocation;
mod drops;
mod random;
mod repeatability;
mod violent;
