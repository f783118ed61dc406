//! Invariant: a step allocates nothing once its buffers have grown to their size.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ambler::world::{CharacterState, Scene, Snapshot, Terrain};
use glam::{DQuat, DVec3};

use super::common::{World, body, cuboid, ground, heightfield, load, mesh, place, prop, vec};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // a thread that ends has no counter any more
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(f: impl FnOnce()) -> usize {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}

#[test]
fn steps_snapshots_and_reading_the_state_allocate_nothing() {
    let floors = [
        ground(0.9),
        heightfield(8.0, 0.3, 0.9, |x, z| 0.02 * libm::sin(2.0 * x + z)),
        mesh(8.0, 0.3, 0.9, |x, z| 0.02 * libm::cos(x - 2.0 * z)),
    ];
    for floor in floors {
        allocates_nothing(floor);
    }
}

fn allocates_nothing(floor: Terrain) {
    let character = load("humanoid.toml");
    let mut scene = Scene::default();
    scene.terrain.push(floor);
    scene.characters.push(place(&character, DVec3::ZERO, 0.0));
    scene.props.push(prop(
        body(cuboid(0.2, 0.2, 0.2), 5.0),
        vec(1.0, 0.2, 0.0),
        DQuat::IDENTITY,
    ));
    let mut world = World::new(scene, 240.0);
    // falls, lies, self contacts: buffers reach their size
    for joint in &mut world.actuations[0].joints {
        joint.kp *= 0.02;
        joint.kd *= 0.02;
    }
    let mut state = CharacterState::default();
    let mut snapshot = Snapshot::default();
    world.engine.snapshot(&mut snapshot);
    world.run(4.0);
    world.engine.read_state(0, &mut state);
    let mut later = Snapshot::default();
    world.engine.snapshot(&mut later);
    world.engine.restore(&snapshot).unwrap();
    let counted = allocations(|| {
        for _ in 0..900 {
            world.engine.step(&world.actuations, &[]).unwrap();
            world.engine.read_state(0, &mut state);
        }
        world.engine.snapshot(&mut later);
        world.engine.restore(&snapshot).unwrap();
    });
    assert!(state.contacts.len() > 3, "the character lies on the ground");
    assert_eq!(counted, 0);
}
