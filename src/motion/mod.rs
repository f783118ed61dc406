//! Import and export of motion files.
//!
//! In: files. Out: [`Clip`](crate::clip::Clip)s. Knows nothing of physics.

pub mod bvh;
