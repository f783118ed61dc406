//! What one can do in a window, and the keys for it.

use kiss3d::event::Key;

use crate::experiment::spec::Direction;
use crate::view::{OVERLAYS, OverlayKind, View};

/// Something asked for by a key or the panel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    TogglePause,
    /// One physics step; in a recording one sample on.
    StepOn,
    /// One sample back, in a recording.
    StepBack,
    Faster,
    Slower,
    Speed(f64),
    Restart {
        repeat: bool,
    },
    /// In a recording left and right are seconds back and on.
    Push(Direction),
    /// To a time, in a recording.
    Seek(f64),
    View(View),
    Toggle(OverlayKind),
    NextFile,
    PreviousFile,
    TogglePanel,
    ToggleHelp,
    SetParameter {
        path: String,
        value: f64,
    },
    SaveExperiment,
    SaveParameters,
    SavePicture,
    Quit,
}

/// A key, what stands on it, what it does and how that is called.
pub(super) struct Binding {
    pub key: Key,
    pub label: &'static str,
    pub act: Act,
    pub about: &'static str,
}

const fn bind(key: Key, label: &'static str, act: Act, about: &'static str) -> Binding {
    Binding { key, label, act, about }
}

/// Every key but those of the overlays, which stand in [`OVERLAYS`].
pub(super) const BINDINGS: [Binding; 22] = [
    bind(Key::Space, "space", Act::TogglePause, "pause, go on"),
    bind(Key::Period, ".", Act::StepOn, "one step; a sample in a recording"),
    bind(Key::Comma, ",", Act::StepBack, "a sample back in a recording"),
    bind(Key::Equals, "=", Act::Faster, "twice as fast"),
    bind(Key::Minus, "-", Act::Slower, "half as fast"),
    bind(Key::R, "r", Act::Restart { repeat: false }, "restart"),
    bind(
        Key::Y,
        "y",
        Act::Restart { repeat: true },
        "restart and repeat what the hand did",
    ),
    bind(Key::Up, "up", Act::Push(Direction::Forward), "push forward"),
    bind(Key::Down, "down", Act::Push(Direction::Backward), "push backward"),
    bind(
        Key::Left,
        "left",
        Act::Push(Direction::Left),
        "push to its left; back in a recording",
    ),
    bind(
        Key::Right,
        "right",
        Act::Push(Direction::Right),
        "push to its right; on in a recording",
    ),
    bind(Key::Key1, "1", Act::View(View::Follow), "camera goes along"),
    bind(Key::Key2, "2", Act::View(View::Side), "camera from the side"),
    bind(Key::Key3, "3", Act::View(View::Front), "camera from the front"),
    bind(Key::Key4, "4", Act::View(View::Top), "camera from above"),
    bind(Key::Key5, "5", Act::View(View::Orbit), "camera stays"),
    bind(
        Key::PageDown,
        "page down",
        Act::NextFile,
        "next experiment or run of the folder",
    ),
    bind(Key::PageUp, "page up", Act::PreviousFile, "previous one"),
    bind(Key::Tab, "tab", Act::TogglePanel, "panel"),
    bind(
        Key::S,
        "s",
        Act::SaveExperiment,
        "save what the hand did as an experiment",
    ),
    bind(Key::F12, "F12", Act::SavePicture, "save the picture"),
    bind(Key::Escape, "escape", Act::Quit, "quit"),
];

/// What a key does, if anything.
pub(super) fn act_of(key: Key) -> Option<Act> {
    if key == Key::Slash || key == Key::F1 {
        return Some(Act::ToggleHelp);
    }
    let bound = BINDINGS.iter().find(|b| b.key == key).map(|b| b.act.clone());
    bound.or_else(|| {
        let letter = letter(key)?;
        let overlay = OVERLAYS.iter().find(|o| o.key == letter)?;
        Some(Act::Toggle(overlay.kind))
    })
}

/// The letter of a key.
fn letter(key: Key) -> Option<char> {
    let name = format!("{key:?}");
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => Some(letter.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_does_one_thing_and_every_overlay_has_a_key() {
        // no key is bound twice, and none of an overlay is taken by anything else
        for (i, a) in BINDINGS.iter().enumerate() {
            assert!(
                BINDINGS[..i].iter().all(|b| b.key != a.key && b.label != a.label),
                "{}",
                a.label
            );
            assert_eq!(act_of(a.key).as_ref(), Some(&a.act));
        }
        assert_eq!(letter(Key::G), Some('g'));
        assert_eq!(letter(Key::Space), None);
        for overlay in &OVERLAYS {
            let taken = BINDINGS.iter().any(|b| letter(b.key) == Some(overlay.key));
            assert!(!taken, "{} is on the key of something else", overlay.name);
        }
        assert_eq!(act_of(Key::G), Some(Act::Toggle(OverlayKind::Ghost)));
    }
}
