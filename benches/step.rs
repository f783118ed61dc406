//! What a step costs: standing, lying and in flight on both engines, copies of the state, and the dynamics underneath.
//!
//! `cargo bench --locked`; one group with `cargo bench --locked -- lying`. The character is `data/characters/benchmark.toml`
//! (16 bodies, 43 degrees of freedom), the rate 240 Hz. A step includes checks of the input and collision detection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ambler::character::{Character, Material};
use ambler::dynamics::{Dynamics, Factor};
use ambler::math::rotation::exp;
use ambler::world::{
    Actuation, CharacterState, Engine, EngineKind, JointPosition, Placement, Scene, Snapshot, Terrain, TerrainShape,
    build,
};
use criterion::{Criterion, criterion_group, criterion_main};
use glam::{DQuat, DVec3};

const RATE: f64 = 240.0;
/// Seconds until a standing or lying character is at rest.
const SETTLING: f64 = 5.0;
const ENGINES: [(&str, EngineKind); 2] = [("articulated", EngineKind::Articulated), ("rapier", EngineKind::Rapier)];

/// A world of one character that holds its bind pose.
struct Bench {
    engine: Box<dyn Engine>,
    actuation: Actuation,
}

fn benchmark_character() -> Arc<Character> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/benchmark.toml");
    Arc::new(Character::load(&path).expect("the project's own character file"))
}

impl Bench {
    fn new(kind: EngineKind, gravity: DVec3) -> Bench {
        let character = benchmark_character();
        let scene = Scene {
            gravity,
            terrain: vec![Terrain {
                shape: TerrainShape::Ground,
                position: DVec3::ZERO,
                rotation: DQuat::IDENTITY,
                material: Material::default(),
            }],
            characters: vec![Placement {
                character: character.clone(),
                position: DVec3::ZERO,
                heading: 0.0,
            }],
            ..Scene::default()
        };
        Bench {
            engine: build(kind, scene, 1.0 / RATE).expect("a valid scene"),
            actuation: Actuation::hold_bind_pose(&character),
        }
    }

    fn step(&mut self) {
        self.engine
            .step(std::slice::from_ref(&self.actuation), &[])
            .expect("a stable simulation");
    }

    fn settle(mut self) -> Bench {
        for _ in 0..(SETTLING * RATE) as usize {
            self.step();
        }
        self
    }

    /// Puts the root of the character at `position` in the bind pose, turned and moving; joints turn at `joint_rate` about
    /// all their axes.
    fn place(mut self, position: DVec3, rotation: DQuat, angular_velocity: DVec3, joint_rate: f64) -> Bench {
        let character = self.engine.scene().characters[0].character.clone();
        let joints: Vec<JointPosition> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let mut velocities = vec![(DVec3::ZERO, DVec3::splat(joint_rate)); joints.len()];
        velocities[0] = (DVec3::ZERO, angular_velocity);
        self.engine
            .set_character(0, position, rotation, &joints, &velocities)
            .expect("a valid state");
        self
    }

    fn standing(kind: EngineKind) -> Bench {
        let bench = Bench::new(kind, Scene::default().gravity).settle();
        assert!(bench.pelvis_height() > 0.9, "the character should stand");
        bench
    }

    fn lying(kind: EngineKind) -> Bench {
        let on_its_back = exp(DVec3::X * -std::f64::consts::FRAC_PI_2);
        let bench = Bench::new(kind, Scene::default().gravity)
            .place(DVec3::Y * 0.3, on_its_back, DVec3::ZERO, 0.0)
            .settle();
        assert!(bench.pelvis_height() < 0.3, "the character should lie");
        bench
    }

    /// Tumbles far from the ground, without gravity so that it stays there.
    fn flying(kind: EngineKind) -> Bench {
        Bench::new(kind, DVec3::ZERO).place(
            DVec3::Y * 100.0,
            exp(DVec3::new(0.3, -0.2, 0.5)),
            DVec3::new(1.0, 2.0, -0.5),
            0.5,
        )
    }

    fn pelvis_height(&self) -> f64 {
        let mut state = CharacterState::default();
        self.engine.read_state(0, &mut state);
        state.bodies[0].position.y
    }
}

fn steps(c: &mut Criterion) {
    type Start = fn(EngineKind) -> Bench;
    let scenes: [(&str, Start); 3] = [
        ("standing", Bench::standing),
        ("lying", Bench::lying),
        ("in flight", Bench::flying),
    ];
    for (scene, start) in scenes {
        let mut group = c.benchmark_group(scene);
        for (name, kind) in ENGINES {
            let mut bench = start(kind);
            group.bench_function(name, |b| b.iter(|| bench.step()));
        }
        group.finish();
    }
}

fn states(c: &mut Criterion) {
    let mut group = c.benchmark_group("state");
    let mut bench = Bench::standing(EngineKind::Articulated);
    let mut snapshot = Snapshot::default();
    group.bench_function("snapshot", |b| b.iter(|| bench.engine.snapshot(&mut snapshot)));
    group.bench_function("restore", |b| {
        b.iter(|| bench.engine.restore(&snapshot).expect("its own snapshot"));
    });
    group.bench_function("clone", |b| b.iter(|| bench.engine.boxed_clone()));
    group.bench_function("hash", |b| b.iter(|| bench.engine.state_hash()));
    let mut state = CharacterState::default();
    group.bench_function("read_state", |b| b.iter(|| bench.engine.read_state(0, &mut state)));
    group.finish();
}

fn dynamics(c: &mut Criterion) {
    let mut group = c.benchmark_group("dynamics");
    let character = benchmark_character();
    let mut dynamics = Dynamics::new(&character, Scene::default().gravity);
    let q = dynamics.tree.bind_coordinates();
    let v: Vec<f64> = (0..dynamics.tree.dofs).map(|k| 0.1 * k as f64 - 2.0).collect();
    group.bench_function("kinematics", |b| b.iter(|| dynamics.update(&q, &v)));
    group.bench_function("bias (RNEA)", |b| b.iter(|| dynamics.bias_forces(&v)));
    let mut mass = Factor::new(&dynamics.tree);
    group.bench_function("mass matrix (CRBA)", |b| b.iter(|| dynamics.mass_matrix(&mut mass)));
    let tree = &dynamics.tree;
    let mut factor = Factor::new(tree);
    group.bench_function("factorisation", |b| {
        b.iter(|| {
            factor.copy_matrix(&mass);
            factor.factorize(tree).expect("a positive definite matrix");
        });
    });
    let mut x = v.clone();
    group.bench_function("solve", |b| {
        b.iter(|| {
            x.copy_from_slice(&v);
            factor.solve(tree, &mut x);
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = steps, states, dynamics
}
criterion_main!(benches);
