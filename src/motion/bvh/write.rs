//! Clip to text.
//!
//! The common dialect, as Blender reads it: one item per line in the order name, brace, OFFSET, CHANNELS, children; three
//! rotation channels per joint, and three position channels before them at the root and wherever a joint moves
//! against its parent; an End Site at every leaf.

use std::fmt::Write;
use std::path::Path;

use glam::{DQuat, DVec3};

use super::BvhError;
use crate::clip::Clip;
use crate::files::write_atomic;
use crate::math::euler::{Axes, EulerOrder};
use crate::skeleton::Skeleton;

/// A translation that strays less than this from the joint's offset (metres) is not written.
const STILL: f64 = 1e-9;

/// How to write a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportOptions {
    /// Order of the rotation channels; three different axes.
    pub order: EulerOrder,
    /// Per joint, where given, instead of `order`: those of an imported file keep its channel order. Missing entries
    /// and those that BVH readers would not take (proper Euler sequences) fall back to `order`.
    pub joint_orders: Vec<Option<EulerOrder>>,
    /// Metres per unit of the file: 0.01 writes centimetres.
    pub scale: f64,
}

impl Default for ExportOptions {
    fn default() -> Self {
        ExportOptions {
            order: EulerOrder::ZXY,
            joint_orders: Vec::new(),
            scale: 1.0,
        }
    }
}

/// Writes `clip` to `path` in metres with ZXY rotations. The file appears whole or not at all.
pub fn write(clip: &Clip, path: &Path) -> Result<(), BvhError> {
    write_with(clip, path, &ExportOptions::default())
}

/// [`write()`] with options.
pub fn write_with(clip: &Clip, path: &Path, options: &ExportOptions) -> Result<(), BvhError> {
    let text = to_string_with(clip, options)?;
    write_atomic(path, text.as_bytes()).map_err(|e| BvhError::Write(Box::new(e)))
}

/// The text that [`write()`] writes.
pub fn to_string(clip: &Clip) -> Result<String, BvhError> {
    to_string_with(clip, &ExportOptions::default())
}

/// The text that [`write_with`] writes.
///
/// BVH has no rest rotations, so joint frames are turned to be parallel to the world's in the bind pose: all angles 0 is
/// the bind pose, and every joint and end site is where it was in every frame. Angles go on past ±180 degrees rather
/// than jump. Positions and degrees carry seven decimals.
pub fn to_string_with(clip: &Clip, options: &ExportOptions) -> Result<String, BvhError> {
    clip.validate().map_err(|source| BvhError::Clip {
        file: clip.name.clone(),
        source,
    })?;
    if !(options.scale.is_finite() && options.scale > 0.0) {
        return Err(BvhError::Scale { scale: options.scale });
    }
    if options.order.is_proper() {
        return Err(BvhError::Order {
            order: options.order.to_string(),
        });
    }
    let tree = Tree::new(clip, options);
    let mut text = String::from("HIERARCHY\n");
    tree.write_hierarchy(&mut text);
    tree.write_motion(&mut text);
    Ok(text)
}

struct Tree<'a> {
    clip: &'a Clip,
    per_metre: f64,
    /// Per joint: its frame in the world in the bind pose, which is the identity in the file.
    bind: Vec<DQuat>,
    orders: Vec<EulerOrder>,
    moves: Vec<bool>,
    children: Vec<Vec<usize>>,
    /// Joints in the order they are written, which is also that of the channels.
    written: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(clip: &'a Clip, options: &ExportOptions) -> Tree<'a> {
        let joints = &clip.skeleton.joints;
        let mut bind: Vec<DQuat> = Vec::with_capacity(joints.len());
        let mut children = vec![Vec::new(); joints.len()];
        for (j, joint) in joints.iter().enumerate() {
            let parent = joint.parent.map_or(DQuat::IDENTITY, |p| bind[p]);
            bind.push((parent * joint.rest).normalize());
            if let Some(p) = joint.parent {
                children[p].push(j);
            }
        }
        let orders = (0..joints.len())
            .map(|j| {
                let own = options.joint_orders.get(j).copied().flatten();
                own.filter(|o| !o.is_proper()).unwrap_or(options.order)
            })
            .map(as_intrinsic)
            .collect();
        let moves = (0..joints.len())
            .map(|j| {
                j == 0
                    || clip
                        .frames
                        .iter()
                        .any(|f| (f.translations[j] - joints[j].offset).length() > STILL)
            })
            .collect();
        let written = depth_first(&clip.skeleton, &children);
        Tree {
            clip,
            per_metre: 1.0 / options.scale,
            bind,
            orders,
            moves,
            children,
            written,
        }
    }

    fn parent_bind(&self, joint: usize) -> DQuat {
        self.clip.skeleton.joints[joint]
            .parent
            .map_or(DQuat::IDENTITY, |p| self.bind[p])
    }

    fn write_hierarchy(&self, text: &mut String) {
        let joints = &self.clip.skeleton.joints;
        let mut depth = 0;
        let mut open: Vec<usize> = Vec::new();
        for &j in &self.written {
            while open.last().copied() != joints[j].parent {
                open.pop();
                depth -= 1;
                line(text, depth, "}");
            }
            let keyword = if j == 0 { "ROOT" } else { "JOINT" };
            line(text, depth, &format!("{keyword} {}", writable_name(&joints[j].name, j)));
            line(text, depth, "{");
            open.push(j);
            depth += 1;
            self.write_offset(text, depth, self.parent_bind(j) * joints[j].offset);
            let position = if self.moves[j] {
                "Xposition Yposition Zposition "
            } else {
                ""
            };
            let [a, b, c] = self.orders[j].sequence();
            line(
                text,
                depth,
                &format!(
                    "CHANNELS {} {position}{a:?}rotation {b:?}rotation {c:?}rotation",
                    if self.moves[j] { 6 } else { 3 }
                ),
            );
            let mut ends: Vec<DVec3> = joints[j].end_sites.iter().map(|&e| self.bind[j] * e).collect();
            if ends.is_empty() && self.children[j].is_empty() {
                ends.push(DVec3::ZERO);
            }
            for end in ends {
                line(text, depth, "End Site");
                line(text, depth, "{");
                self.write_offset(text, depth + 1, end);
                line(text, depth, "}");
            }
        }
        while depth > 0 {
            depth -= 1;
            line(text, depth, "}");
        }
    }

    fn write_offset(&self, text: &mut String, depth: usize, v: DVec3) {
        let v = v * self.per_metre;
        let mut offset = String::from("OFFSET");
        for x in v.to_array() {
            push_number(&mut offset, x);
        }
        line(text, depth, &offset);
    }

    fn write_motion(&self, text: &mut String) {
        let frames = &self.clip.frames;
        // Display of f64 is the shortest text that reads back the same, and never has an exponent
        let _ = write!(
            text,
            "MOTION\nFrames: {}\nFrame Time: {}\n",
            frames.len(),
            self.clip.frame_time
        );
        let mut previous: Vec<Option<[f64; 3]>> = vec![None; self.bind.len()];
        let mut row = String::new();
        for frame in frames {
            row.clear();
            for &j in &self.written {
                if self.moves[j] {
                    let x = self.parent_bind(j) * frame.translations[j] * self.per_metre;
                    for x in x.to_array() {
                        push_number(&mut row, x);
                    }
                }
                // R_j bind⁻¹ are the file's joint frames: see to_string_with
                let q = (self.bind[j] * frame.rotations[j] * self.bind[j].conjugate()).normalize();
                let angles = match previous[j] {
                    Some(p) => self.orders[j].from_quat_near(q, p),
                    None => self.orders[j].from_quat(q),
                };
                previous[j] = Some(angles);
                for angle in angles {
                    push_number(&mut row, angle.to_degrees());
                }
            }
            text.push_str(row.trim_start());
            text.push('\n');
        }
    }
}

/// Parents before children and a joint's whole branch before the next one, as nested braces need it.
fn depth_first(skeleton: &Skeleton, children: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(skeleton.joints.len());
    let mut todo = vec![0];
    while let Some(j) = todo.pop() {
        order.push(j);
        todo.extend(children[j].iter().rev());
    }
    order
}

/// An extrinsic sequence is the intrinsic one backwards.
fn as_intrinsic(order: EulerOrder) -> EulerOrder {
    match order.axes() {
        Axes::Intrinsic => order,
        Axes::Extrinsic => {
            let [a, b, c] = order.sequence();
            EulerOrder::new([c, b, a], Axes::Intrinsic).unwrap_or(EulerOrder::ZXY)
        }
    }
}

/// A name that does not break the line or the braces.
fn writable_name(name: &str, joint: usize) -> String {
    let clean: String = name
        .chars()
        .map(|c| {
            if matches!(c, '{' | '}') || c.is_control() {
                '_'
            } else {
                c
            }
        })
        .collect();
    let clean = clean.trim();
    if clean.is_empty() {
        format!("joint_{joint}")
    } else {
        clean.to_owned()
    }
}

fn line(text: &mut String, depth: usize, content: &str) {
    for _ in 0..depth {
        text.push('\t');
    }
    text.push_str(content);
    text.push('\n');
}

fn push_number(text: &mut String, value: f64) {
    // a value that rounds to nothing must not read -0.0000000
    let value = if value.abs() < 0.5e-7 { 0.0 } else { value };
    let _ = write!(text, " {value:.7}");
}
