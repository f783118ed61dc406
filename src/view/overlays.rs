//! The table of overlays: what can be drawn over the bodies, under which name, with which key and in which colour.

use thiserror::Error;

use super::colors::Rgb;
use crate::names::nearest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayKind {
    Ghost,
    Skeleton,
    Axes,
    Contacts,
    GroundReaction,
    CenterOfMass,
    CenterOfPressure,
    Support,
    Targets,
    Assist,
    Pushes,
    Trails,
    Boxes,
    Grid,
}

/// An entry of the table, of the legend and of the keys of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlay {
    pub kind: OverlayKind,
    /// On the command line.
    pub name: &'static str,
    /// In a window.
    pub key: char,
    pub color: Rgb,
    /// For the legend.
    pub label: &'static str,
    pub about: &'static str,
}

const fn overlay(
    kind: OverlayKind,
    name: &'static str,
    key: char,
    color: Rgb,
    label: &'static str,
    about: &'static str,
) -> Overlay {
    Overlay {
        kind,
        name,
        key,
        color,
        label,
        about,
    }
}

/// All overlays, in the order of the legend; an overlay's place is its kind.
#[rustfmt::skip]
pub const OVERLAYS: [Overlay; 14] = {
    use OverlayKind::*;
    [
        overlay(Ghost, "ghost", 'g', Rgb(0, 150, 110), "reference", "the reference motion: where the controller wants the bodies"),
        overlay(Skeleton, "skeleton", 'k', Rgb(30, 30, 34), "skeleton", "lines from joint to joint"),
        overlay(Axes, "axes", 'j', Rgb(214, 39, 40), "joint axes", "axes of the joints; of a ball joint x red, y green, z blue"),
        overlay(Contacts, "contacts", 'c', Rgb(122, 40, 160), "contact forces", "contact points and the forces on the character"),
        overlay(GroundReaction, "reaction", 'f', Rgb(0, 110, 60), "force on a foot", "sum of the contact forces on each foot, at its centre of pressure"),
        overlay(CenterOfMass, "com", 'm', Rgb(250, 210, 0), "centre of mass", "centre of mass and the point below it"),
        overlay(CenterOfPressure, "cop", 'p', Rgb(200, 0, 120), "centre of pressure", "centre of pressure of all contacts"),
        overlay(Support, "support", 'o', Rgb(0, 90, 170), "support polygon", "hull of the loaded contact points"),
        overlay(Targets, "targets", 't', Rgb(90, 90, 90), "way to reference", "lines from each body to where the controller wants it"),
        overlay(Assist, "assist", 'h', Rgb(180, 110, 0), "assist", "force and torque from outside at the root, the hand of God"),
        overlay(Pushes, "pushes", 'u', Rgb(220, 20, 30), "push", "disturbances, and the hand of a window"),
        overlay(Trails, "trails", 'l', Rgb(60, 60, 70), "trails", "where the centre of mass and the feet were in the last seconds"),
        overlay(Boxes, "boxes", 'b', Rgb(70, 70, 80), "bounding boxes", "bounding boxes of the colliders"),
        overlay(Grid, "grid", 'i', Rgb(104, 110, 118), "grid 1 m, 5 m", "grid on the ground"),
    ]
};

/// Which overlays are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverlaySet(u32);

/// The ghost is only useful while something follows it, so the grid and pushes alone are on at first.
impl Default for OverlaySet {
    fn default() -> OverlaySet {
        OverlaySet::NONE.with(OverlayKind::Grid).with(OverlayKind::Pushes)
    }
}

/// A name that is not in the table.
#[derive(Debug, Error, Clone, PartialEq)]
#[error("there is no overlay \"{name}\"{}; known are all, none, {}", self.meant(), names())]
pub struct UnknownOverlay {
    pub name: String,
}

fn names() -> String {
    OVERLAYS.map(|o| o.name).join(", ")
}

impl UnknownOverlay {
    fn meant(&self) -> String {
        nearest(&self.name, OVERLAYS.iter().map(|o| o.name))
            .map(|n| format!(" (did you mean \"{n}\"?)"))
            .unwrap_or_default()
    }
}

impl OverlaySet {
    pub const NONE: OverlaySet = OverlaySet(0);
    pub const ALL: OverlaySet = OverlaySet((1 << OVERLAYS.len()) - 1);

    pub fn has(self, kind: OverlayKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    #[must_use]
    pub fn with(self, kind: OverlayKind) -> OverlaySet {
        OverlaySet(self.0 | 1 << kind as u32)
    }

    pub fn toggle(&mut self, kind: OverlayKind) {
        self.0 ^= 1 << kind as u32;
    }

    /// Those that are on, in the order of the table.
    pub fn entries(self) -> impl Iterator<Item = &'static Overlay> {
        OVERLAYS.iter().filter(move |o| self.has(o.kind))
    }

    /// From `ghost,com`, `all` or `none`.
    pub fn parse(list: &str) -> Result<OverlaySet, UnknownOverlay> {
        let mut set = OverlaySet::NONE;
        for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            set = match name {
                "all" => OverlaySet::ALL,
                "none" => OverlaySet::NONE,
                _ => match OVERLAYS.iter().find(|o| o.name == name) {
                    Some(overlay) => set.with(overlay.kind),
                    None => return Err(UnknownOverlay { name: name.into() }),
                },
            };
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_its_names_keys_and_labels_are_different() {
        // an overlay is found by its kind; no key or name means two of them
        for (i, overlay) in OVERLAYS.iter().enumerate() {
            assert_eq!(overlay.kind as usize, i, "{}", overlay.name);
            for other in &OVERLAYS[..i] {
                assert_ne!(overlay.name, other.name);
                assert_ne!(overlay.key, other.key);
                assert_ne!(overlay.label, other.label);
                assert_ne!(overlay.color, other.color);
            }
        }
    }

    #[test]
    fn lists_of_names_are_understood_and_mistyped_ones_explained() {
        // every name alone, all, none, and a list; a wrong name is reported with the nearest one
        for overlay in &OVERLAYS {
            let set = OverlaySet::parse(overlay.name).unwrap();
            assert!(set.has(overlay.kind));
            assert_eq!(set.entries().count(), 1);
        }
        assert_eq!(OverlaySet::parse("all").unwrap(), OverlaySet::ALL);
        assert_eq!(OverlaySet::parse("none").unwrap(), OverlaySet::NONE);
        let set = OverlaySet::parse("ghost, com").unwrap();
        assert_eq!(set.entries().map(|o| o.name).collect::<Vec<_>>(), ["ghost", "com"]);
        let error = OverlaySet::parse("goast").unwrap_err().to_string();
        assert!(error.contains("did you mean \"ghost\"?"), "{error}");
    }
}
