//! What stands on the stage: kiss3d nodes for everything of an experiment that has a shape, put in their places frame by frame.

use glam::{DQuat, DVec3, Vec3};
use kiss3d::light::Light;
use kiss3d::scene::SceneNode3d;
use kiss3d::window::Window;

use super::batch::Batch;
use super::colors::{self, Rgb};
use super::meshes::terrain_node;
use super::{OverlayKind, OverlaySet, quat, vec3};
use crate::character::{Body, Shape, Side};
use crate::experiment::{BodyPose, Frame, Prepared};
use crate::world::TerrainShape;

/// Half the side of what is drawn of the endless ground, metres; beyond, there is only haze.
const GROUND_REACH: f32 = 60.0;
/// How much of what is behind a ghost it hides.
const GHOST_ALPHA: f32 = 0.35;

/// The nodes of an experiment.
pub struct Stage {
    scene: SceneNode3d,
    /// Everything solid: the world itself (body 0, for terrain made of boxes), then platforms, props and characters.
    solids: Batch,
    ghosts: Batch,
    grounds: Vec<SceneNode3d>,
    poses: Vec<BodyPose>,
    /// Added to every position of the reference, metres.
    pub ghost_offset: Vec3,
}

/// Colour of a body of a character.
pub(super) fn body_color(character: usize, body: &Body) -> Rgb {
    match body.side() {
        Some(Side::Left) => colors::LEFT,
        Some(Side::Right) => colors::RIGHT,
        None => colors::MIDDLE[character % colors::MIDDLE.len()],
    }
}

fn add_body(batch: &mut Batch, slot: &mut usize, body: &Body, color: Rgb) {
    for collider in &body.colliders {
        batch.add(
            *slot,
            &collider.shape,
            collider.position,
            collider.rotation,
            color.with_alpha(1.0),
        );
    }
    *slot += 1;
}

impl Stage {
    /// Builds the nodes of an experiment. A kiss3d window or a [`Studio`](super::Studio) has to be open in this thread.
    pub fn new(prepared: &Prepared) -> Stage {
        let world = prepared.world();
        let world = world.scene();
        let mut scene = SceneNode3d::empty();
        add_sun(&mut scene);
        let mut solids = Batch::new(&mut scene, 1.0);
        let mut ghosts = Batch::new(&mut scene, GHOST_ALPHA);
        let mut grounds = Vec::new();
        for terrain in &world.terrain {
            for (half_extents, center) in terrain.shape.boxes() {
                let place = terrain.position + terrain.rotation * center;
                let color = colors::TERRAIN.with_alpha(1.0);
                solids.add(0, &Shape::Box { half_extents }, place, terrain.rotation, color);
            }
            let mut node = match (&terrain.shape, terrain_node(&terrain.shape)) {
                (_, Some(node)) => node,
                (TerrainShape::Ground, None) => ground_node(),
                _ => continue,
            };
            let color = match terrain.shape {
                TerrainShape::Ground => colors::ground((terrain.rotation * DVec3::Y).y),
                _ => colors::TERRAIN,
            };
            node.set_color_recursive(color.with_alpha(1.0));
            node.set_roughness_recursive(0.95);
            node.set_metallic_recursive(0.0);
            node.set_position(vec3(terrain.position));
            node.set_rotation(quat(terrain.rotation));
            scene.add_child(node.clone());
            if terrain.shape == TerrainShape::Ground {
                grounds.push(node);
            }
        }
        let mut slot = 1;
        for platform in &world.platforms {
            let shape = Shape::Box {
                half_extents: platform.half_extents,
            };
            let color = colors::PLATFORM.with_alpha(1.0);
            solids.add(slot, &shape, DVec3::ZERO, DQuat::IDENTITY, color);
            slot += 1;
        }
        for (p, prop) in world.props.iter().enumerate() {
            for body in &prop.body.bodies {
                add_body(&mut solids, &mut slot, body, colors::PROPS[p % colors::PROPS.len()]);
            }
        }
        let mut ghost_slot = 0;
        for (i, actor) in prepared.actors.iter().enumerate() {
            for body in &actor.character.bodies {
                add_body(&mut solids, &mut slot, body, body_color(i, body));
                add_body(&mut ghosts, &mut ghost_slot, body, colors::GHOST);
            }
        }
        Stage {
            scene,
            solids,
            ghosts,
            grounds,
            poses: Vec::new(),
            ghost_offset: Vec3::ZERO,
        }
    }

    /// What kiss3d draws.
    pub fn scene_mut(&mut self) -> &mut SceneNode3d {
        &mut self.scene
    }

    /// Puts everything where it is in `frame`; of the overlays only the ghost is made of nodes.
    pub fn show(&mut self, frame: &Frame, overlays: OverlaySet) {
        self.poses.clear();
        self.poses.push(BodyPose::default());
        self.poses.extend(&frame.platforms);
        self.poses.extend(frame.props.iter().flatten());
        self.poses.extend(frame.characters.iter().flat_map(|c| &c.bodies));
        self.solids.show(&self.poses, Vec3::ZERO);
        let ghost = overlays.has(OverlayKind::Ghost);
        self.ghosts.set_visible(ghost);
        if ghost {
            self.poses.clear();
            self.poses.extend(frame.characters.iter().flat_map(|c| &c.reference));
            self.ghosts.show(&self.poses, self.ghost_offset);
        }
        // the endless ground goes along, in whole metres along its own axes
        if let Some(first) = frame.characters.first() {
            let here = vec3(first.center_of_mass);
            for ground in &mut self.grounds {
                let up = ground.rotation() * Vec3::Y;
                let on_plane = here - up * up.dot(here - ground.position());
                ground.set_position(on_plane);
            }
        }
    }
}

/// A thin slab: kiss3d's quads stand upright, and a box has its normals right on both sides.
fn ground_node() -> SceneNode3d {
    let mut slab = SceneNode3d::cube(2.0 * GROUND_REACH, 0.02, 2.0 * GROUND_REACH);
    slab.set_position(Vec3::new(0.0, -0.01, 0.0));
    slab.set_casts_shadows(false);
    let mut node = SceneNode3d::empty();
    node.add_child(slab);
    node
}

fn add_sun(scene: &mut SceneNode3d) {
    // from behind the right shoulder of whoever looks from the side, high enough for short shadows
    let sun = Light::directional(Vec3::new(0.45, -1.0, -0.3))
        .with_color(Rgb(255, 246, 230).with_alpha(1.0))
        .with_intensity(2.2);
    scene.add_light(sun);
    // a weak light from the other side gives shape to what is in the shade
    let fill = Light::directional(Vec3::new(-0.6, -0.35, 0.5))
        .with_color(Rgb(214, 226, 255).with_alpha(1.0))
        .with_intensity(0.55)
        .with_casts_shadows(false);
    scene.add_light(fill);
}

/// Sky, haze and shadows of a window, so that it shows what a [`Studio`](super::Studio) shows.
pub fn light(window: &mut Window) {
    window.set_background_color(colors::SKY.with_alpha(1.0));
    window.set_ambient(0.42);
    window.set_fog(kiss3d::light::Fog::linear(colors::SKY.with_alpha(1.0), 14.0, 48.0));
    // one sun: four cascades and no more, small because the scene is
    window.set_shadow_atlas_layers(4);
    window.set_shadow_resolution(1024);
    window.set_shadow_distance(20.0);
    window.set_first_cascade_far_bound(7.0);
    window.set_shadow_softness(1.6);
}
