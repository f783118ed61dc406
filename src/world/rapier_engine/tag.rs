//! What a collider belongs to, packed into its user data.

use rapier3d::geometry::{ColliderHandle, SolverFlags};
use rapier3d::pipeline::{PairFilterContext, PhysicsHooks};

use crate::world::{BodyRef, Scene};

/// Packed [`BodyRef`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(u128);

impl Tag {
    pub fn new(reference: BodyRef) -> Tag {
        let (kind, owner, body) = match reference {
            BodyRef::Terrain(i) => (0, i, 0),
            BodyRef::Platform(i) => (1, i, 0),
            BodyRef::Prop { prop, body } => (2, prop, body),
            BodyRef::Character { character, body } => (3, character, body),
        };
        Tag(kind << 96 | (owner as u32 as u128) << 64 | (body as u32 as u128) << 32)
    }

    pub fn from_bits(bits: u128) -> Tag {
        Tag(bits)
    }

    pub fn bits(self) -> u128 {
        self.0
    }

    pub fn reference(self) -> BodyRef {
        let (owner, body) = (self.owner(), self.body() as usize);
        match self.0 >> 96 {
            0 => BodyRef::Terrain(owner),
            1 => BodyRef::Platform(owner),
            2 => BodyRef::Prop { prop: owner, body },
            _ => BodyRef::Character { character: owner, body },
        }
    }

    fn owner(self) -> usize {
        (self.0 >> 64) as u32 as usize
    }

    fn body(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Keeps apart the bodies of one owner that its definition keeps apart: parent and child, also where a universal joint's
/// middle link stands between the two, and collision groups.
pub(super) struct OwnFilter<'a>(pub &'a Scene);

impl PhysicsHooks for OwnFilter<'_> {
    fn filter_contact_pair(&self, context: &PairFilterContext) -> Option<SolverFlags> {
        let tag = |handle: ColliderHandle| Tag::from_bits(context.colliders[handle].user_data).reference();
        let allowed = match (tag(context.collider1), tag(context.collider2)) {
            (
                BodyRef::Character { character, body: a },
                BodyRef::Character {
                    character: other,
                    body: b,
                },
            ) if character == other => self.0.characters[character].character.may_collide(a, b),
            (BodyRef::Prop { prop, body: a }, BodyRef::Prop { prop: other, body: b }) if prop == other => {
                self.0.props[prop].body.may_collide(a, b)
            }
            _ => true,
        };
        allowed.then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference survives packing.
    #[test]
    fn tags_keep_references() {
        let references = [
            BodyRef::Terrain(7),
            BodyRef::Platform(3),
            BodyRef::Prop { prop: 70_000, body: 2 },
            BodyRef::Character { character: 5, body: 41 },
        ];
        for r in references {
            assert_eq!(Tag::from_bits(Tag::new(r).bits()).reference(), r);
        }
    }
}
