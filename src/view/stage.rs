//! What stands on the stage: kiss3d nodes for everything of an experiment that has a shape, put in their places frame by frame.

use glam::Vec3;
use kiss3d::color::Color;
use kiss3d::light::Light;
use kiss3d::scene::SceneNode3d;
use kiss3d::window::Window;

use super::colors::{self, Rgb};
use super::meshes::{box_node, shape_node, terrain_node};
use super::{OverlayKind, OverlaySet, pose3, quat, vec3};
use crate::character::{Body, Character, Side};
use crate::experiment::{BodyPose, Frame, Prepared};
use crate::world::TerrainShape;

/// Half the side of what is drawn of the endless ground, metres; beyond, there is only haze.
const GROUND_REACH: f32 = 60.0;
/// How much of what is behind a ghost it hides.
const GHOST_ALPHA: f32 = 0.35;

/// The nodes of an experiment.
///
/// The scene stays empty until the first [`Stage::show`].
pub struct Stage {
    scene: SceneNode3d,
    /// Per character and body.
    bodies: Vec<Vec<SceneNode3d>>,
    ghosts: Vec<Vec<SceneNode3d>>,
    ghost_root: SceneNode3d,
    /// Per prop and body.
    props: Vec<Vec<SceneNode3d>>,
    platforms: Vec<SceneNode3d>,
    grounds: Vec<SceneNode3d>,
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

fn body_nodes(parent: &mut SceneNode3d, character: &Character, color: impl Fn(&Body) -> Color) -> Vec<SceneNode3d> {
    (character.bodies.iter())
        .map(|body| {
            let mut node = parent.add_group();
            for collider in &body.colliders {
                let mut part = shape_node(&collider.shape);
                part.set_position(vec3(collider.position));
                part.set_rotation(quat(collider.rotation));
                paint(&mut part, color(body), 0.65);
                node.add_child(part);
            }
            node
        })
        .collect()
}

fn paint(node: &mut SceneNode3d, color: Color, roughness: f32) {
    node.set_color_recursive(color);
    node.set_roughness_recursive(roughness);
    node.set_metallic_recursive(0.0);
}

impl Stage {
    /// Builds the nodes of an experiment. A kiss3d window or a [`Studio`](super::Studio) has to be open in this thread.
    pub fn new(prepared: &Prepared) -> Stage {
        let world = prepared.world();
        let world = world.scene();
        let mut scene = SceneNode3d::empty();
        add_sun(&mut scene);
        let mut grounds = Vec::new();
        for terrain in &world.terrain {
            let mut node = match terrain_node(&terrain.shape) {
                Some(mut node) => {
                    paint(&mut node, colors::TERRAIN.with_alpha(1.0), 0.9);
                    node
                }
                None => {
                    // a thin slab: kiss3d's quads stand upright, and a box has its normals right on both sides
                    let mut slab = SceneNode3d::cube(2.0 * GROUND_REACH, 0.02, 2.0 * GROUND_REACH);
                    slab.set_position(Vec3::new(0.0, -0.01, 0.0));
                    paint(&mut slab, colors::GROUND.with_alpha(1.0), 0.95);
                    slab.set_casts_shadows(false);
                    let mut node = SceneNode3d::empty();
                    node.add_child(slab);
                    node
                }
            };
            node.set_position(vec3(terrain.position));
            node.set_rotation(quat(terrain.rotation));
            if terrain.shape == TerrainShape::Ground {
                grounds.push(node.clone());
            }
            scene.add_child(node);
        }
        let platforms = (world.platforms.iter())
            .map(|platform| {
                let mut node = box_node(platform.half_extents);
                paint(&mut node, colors::PLATFORM.with_alpha(1.0), 0.8);
                scene.add_child(node.clone());
                node
            })
            .collect();
        let props = (world.props.iter().enumerate())
            .map(|(p, prop)| {
                let color = colors::PROPS[p % colors::PROPS.len()].with_alpha(1.0);
                body_nodes(&mut scene, &prop.body, |_| color)
            })
            .collect();
        let bodies = (prepared.actors.iter().enumerate())
            .map(|(i, actor)| body_nodes(&mut scene, &actor.character, |body| body_color(i, body).with_alpha(1.0)))
            .collect();
        let mut ghost_root = scene.add_group();
        let ghosts = (prepared.actors.iter())
            .map(|actor| {
                body_nodes(&mut ghost_root, &actor.character, |_| {
                    colors::GHOST.with_alpha(GHOST_ALPHA)
                })
            })
            .collect();
        ghost_root.apply_to_objects_mut_recursive(&mut |object| object.set_casts_shadows(false));
        Stage {
            scene,
            bodies,
            ghosts,
            ghost_root,
            props,
            platforms,
            grounds,
            ghost_offset: Vec3::ZERO,
        }
    }

    /// What kiss3d draws.
    pub fn scene_mut(&mut self) -> &mut SceneNode3d {
        &mut self.scene
    }

    /// Puts everything where it is in `frame`; of the overlays only the ghost is made of nodes.
    pub fn show(&mut self, frame: &Frame, overlays: OverlaySet) {
        self.ghost_root.set_visible(overlays.has(OverlayKind::Ghost));
        for (i, character) in frame.characters.iter().enumerate() {
            place(self.bodies.get_mut(i), &character.bodies);
            place(self.ghosts.get_mut(i), &character.reference);
        }
        self.ghost_root.set_position(self.ghost_offset);
        for (i, prop) in frame.props.iter().enumerate() {
            place(self.props.get_mut(i), prop);
        }
        for (node, pose) in self.platforms.iter_mut().zip(&frame.platforms) {
            node.set_pose(pose3(pose));
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

fn place(nodes: Option<&mut Vec<SceneNode3d>>, poses: &[BodyPose]) {
    for (node, pose) in nodes.into_iter().flatten().zip(poses) {
        node.set_pose(pose3(pose));
    }
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
