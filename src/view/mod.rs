//! The picture of an experiment (feature `viewer`).
//!
//! In: a [`Prepared`](crate::experiment::Prepared) experiment and its [`Frame`](crate::experiment::Frame)s, simulated or
//! played back. Out: what is drawn, into a window or into files. Knows nothing of the command line.
//! Drawing only looks; what a hand does in a [`window`] goes to the experiment as a command.
//!
//! ```text
//! Prepared → Stage (nodes)  ┐
//! Frame → Stage::show       ├→ kiss3d Window (live) or Studio (no display) → Picture → PNG, sheet, GIF
//! Frame → Overlays, Camera  ┘
//! ```
//!
//! [`Stage`], [`Overlays`] and [`Camera`] do not care whether a window or a [`Studio`] draws them: both are a kiss3d `Window`.

mod adapter;
mod batch;
mod camera;
mod colors;
mod film;
mod legend;
mod lettering;
mod meshes;
mod moving;
mod overlay_draw;
mod overlays;
mod pen;
mod picture;
mod sheet;
mod stage;
pub mod window;

pub use adapter::{Adapter, AdapterError};
pub use camera::{Camera, CameraOptions, View};
pub use colors::Rgb;
pub use film::{Film, LiveFilm};
pub use moving::{EncodeError, GifWriter};
pub use overlay_draw::Overlays;
pub use overlays::{OVERLAYS, Overlay, OverlayKind, OverlaySet, UnknownOverlay};
pub use picture::{Picture, PictureError, Studio};
pub use sheet::Sheet;
pub use stage::{Stage, light};

use glam::{DQuat, DVec3, Quat, Vec3};
use kiss3d::glamx::Pose3;

use crate::experiment::BodyPose;

/// From the simulation's numbers to the picture's.
fn vec3(v: DVec3) -> Vec3 {
    v.as_vec3()
}

fn quat(q: DQuat) -> Quat {
    q.as_quat()
}

fn pose3(pose: &BodyPose) -> Pose3 {
    Pose3::from_parts(vec3(pose.position), quat(pose.rotation))
}
