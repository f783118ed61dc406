//! ambler: physics-based character control.
//!
//! Ragdolls live in a rapier world, are driven by stable PD controllers that track kinematic motion, and are
//! measured while they do it. The map of the house, as the data flows:
//!
//! ```text
//! motion file → Clip → Pose → Controller → Actuation → World::step → Recording → metrics → summary
//!                                ↑ CharacterState ────────┘
//! ```
//!
//! | room | holds |
//! |---|---|
//! | [`math`] | rotations, Euler orders, counter-based random numbers |
//! | [`skeleton`] | joint tree, bind pose, local and model-space poses |
//! | [`clip`] | motion in memory and the `.clip` container |
//! | [`motion`] | import and export (BVH) |
//! | [`character`] | character definition (TOML), fitting one to a skeleton, checks |
//! | [`dynamics`] | articulated rigid-body algorithms |
//! | [`world`] | scene, contacts, the two engines, snapshots |
//! | [`control`] | controllers: hold, track |
//! | [`experiment`] | specs, running, recording, metrics |
//! | [`optimize`] | CMA-ES, studies: parameters that make a cost small |
//! | [`report`] | figures and a page of run folders |
//! | [`bounds`] | the range of numbers that can be simulated |
//! | [`files`] | TOML with good errors, files written whole |
//! | [`names`] | the name that was meant by a mistyped one |
//! | `view` (feature `viewer`) | the picture of an experiment: bodies, overlays, camera, files of pictures |
//! | [`cli`] | argument parsing and printing |
//!
//! Conventions everywhere: Y up, right handed, SI units, radians; a character at heading 0 faces +Z and its left is
//! +X; quaternions are stored `[x, y, z, w]`.

pub mod bounds;
pub mod character;
pub mod cli;
pub mod clip;
pub mod control;
pub mod dynamics;
pub mod experiment;
pub mod files;
pub mod math;
pub mod motion;
pub mod names;
pub mod optimize;
pub mod report;
pub mod skeleton;
#[cfg(feature = "viewer")]
pub mod view;
pub mod world;

/// The program in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
