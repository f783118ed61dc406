//! What a collider belongs to, packed into its user data.

use rapier3d::geometry::{ColliderHandle, SolverFlags};
use rapier3d::pipeline::{PairFilterContext, PhysicsHooks};

use crate::world::BodyRef;

/// Packed [`BodyRef`] and index of the body's parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(u128);

const NO_PARENT: u32 = u32::MAX;

impl Tag {
    pub fn new(reference: BodyRef, parent: Option<usize>) -> Tag {
        let (kind, owner, body) = match reference {
            BodyRef::Terrain(i) => (0, i, 0),
            BodyRef::Platform(i) => (1, i, 0),
            BodyRef::Prop { prop, body } => (2, prop, body),
            BodyRef::Character { character, body } => (3, character, body),
        };
        let parent = parent.map_or(NO_PARENT, |p| p as u32);
        Tag(kind << 96 | (owner as u32 as u128) << 64 | (body as u32 as u128) << 32 | parent as u128)
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

    /// Whether one is the parent of the other.
    fn is_adjacent(self, other: Tag) -> bool {
        let same_owner = self.0 >> 64 == other.0 >> 64;
        let is_child = |child: Tag, parent: Tag| child.0 as u32 != NO_PARENT && child.0 as u32 == parent.body();
        same_owner && (is_child(self, other) || is_child(other, self))
    }
}

/// Keeps a body from colliding with its parent where a universal joint's middle link stands between the two.
pub(super) struct AdjacentFilter;

impl PhysicsHooks for AdjacentFilter {
    fn filter_contact_pair(&self, context: &PairFilterContext) -> Option<SolverFlags> {
        let tag = |handle: ColliderHandle| Tag::from_bits(context.colliders[handle].user_data);
        let adjacent = tag(context.collider1).is_adjacent(tag(context.collider2));
        (!adjacent).then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference survives packing; only parent and child of one owner are adjacent.
    #[test]
    fn tags_keep_references_and_neighbours() {
        let references = [
            BodyRef::Terrain(7),
            BodyRef::Platform(3),
            BodyRef::Prop { prop: 70_000, body: 2 },
            BodyRef::Character { character: 5, body: 41 },
        ];
        for r in references {
            assert_eq!(Tag::from_bits(Tag::new(r, Some(9)).bits()).reference(), r);
        }
        let body = |character, body, parent| Tag::new(BodyRef::Character { character, body }, parent);
        assert!(body(1, 4, Some(2)).is_adjacent(body(1, 2, None)));
        assert!(body(1, 2, None).is_adjacent(body(1, 4, Some(2))));
        assert!(!body(1, 4, Some(2)).is_adjacent(body(0, 2, None)));
        assert!(!body(1, 4, Some(2)).is_adjacent(body(1, 3, Some(2))));
        assert!(!Tag::new(BodyRef::Terrain(1), None).is_adjacent(Tag::new(BodyRef::Terrain(1), None)));
    }
}
