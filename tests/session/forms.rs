//! The forms of the experiment file in which what was done by hand is written.

use ambler::experiment::Simulation;
use glam::DVec3;

use super::{STAND, TWO, WALK, hash_after, hash_of_run, load, prepare};

#[test]
fn a_curve_of_forces_gives_exactly_its_impulse_in_exactly_its_steps() {
    // without gravity and contacts the momentum is the sum of forces × time, and it begins to change in the step named
    let rate = 240.0;
    let forces: Vec<DVec3> = (0..10_000)
        .map(|i| DVec3::new((i % 7) as f64 - 3.0, (i % 3) as f64 - 1.0, 0.5))
        .collect();
    let list: Vec<String> = forces
        .iter()
        .map(|f| format!("[{:?}, {:?}, {:?}]", f.x, f.y, f.z))
        .collect();
    let prepared = prepare(&format!(
        "rate_hz = {rate}\nduration_s = 1\ngravity = [0, 0, 0]\n[character]\nfile = \"humanoid.toml\"\n\
         [[disturbances]]\ntime_s = {:?}\nevery_s = {:?}\nforces_n = [{}]\n",
        7.0 / rate,
        3.0 / rate,
        list.join(", ")
    ));
    let mut simulation = Simulation::new(&prepared);
    let mut expected = DVec3::ZERO;
    for step in 0..240 {
        simulation.control();
        simulation.step().unwrap();
        if step >= 7 {
            expected += forces[(step - 7) / 3] / rate;
            let shown: Vec<DVec3> = simulation.pushes_now().iter().map(|p| p.force).collect();
            assert_eq!(shown, [forces[(step - 7) / 3]], "pictures show it");
        }
        let p = simulation.states[0].linear_momentum;
        assert!((p - expected).length() < 1e-9, "{p} for {expected} after step {step}");
    }
}

#[test]
fn a_change_is_a_controller_built_with_the_value_from_its_time_on() {
    // at time 0 it equals the value in the file, between two calls of the controllers it waits for the next one
    let base = |controller: &str, rest: &str| {
        prepare(&format!(
            "rate_hz = 240\ncontrol_hz = 60\nduration_s = 0.5\n{}{rest}",
            WALK.replace("kind = \"track\"\n", &format!("kind = \"track\"\n{controller}"))
        ))
    };
    let change = |time: f64, path: &str, value: f64| {
        format!("[[changes]]\ntime_s = {time:?}\nparameter = \"{path}\"\nvalue = {value:?}\n")
    };
    for (key, path, value) in [
        ("kp_scale = 0.7\n", "controller.kp_scale", 0.7),
        ("gains.left_shin = { kd = 3.5 }\n", "controller.gains.left_shin.kd", 3.5),
        ("kd_scale = 2.5\n", "controller.kd_scale", 2.5),
    ] {
        assert_eq!(
            hash_of_run(&base(key, "")),
            hash_of_run(&base("", &change(0.0, path, value))),
            "{path}"
        );
    }
    let assist = prepare(&format!(
        "rate_hz = 240\ncontrol_hz = 60\nduration_s = 0.5\n{}",
        WALK.replace("[controller.assist]\n", "[controller.assist]\nkp_linear = 100\n")
    ));
    let changed = base("", &change(0.0, "controller.assist.kp_linear", 100.0));
    assert_eq!(hash_of_run(&assist), hash_of_run(&changed));

    let between = base("", &change(25.0 / 240.0, "controller.kp_scale", 0.3));
    let on_call = base("", &change(28.0 / 240.0, "controller.kp_scale", 0.3));
    let plain = base("", "");
    assert_eq!(hash_of_run(&between), hash_of_run(&on_call));
    assert_eq!(hash_after(&between, 28), hash_after(&plain, 28));
    assert_ne!(hash_after(&between, 29), hash_after(&plain, 29));
}

#[test]
fn mistakes_in_curves_and_changes_name_their_line_and_what_was_expected() {
    // every refusal says where and what to write instead
    let base = format!("rate_hz = 240\nduration_s = 1\n{STAND}");
    let curve = "[[disturbances]]\ntime_s = 0.5\nevery_s = 0.0125\nforces_n = [[1, 2, 3]]\n";
    let change = "[[changes]]\ntime_s = 0.5\nparameter = \"controller.kp_scale\"\nvalue = 2\n";
    load(&format!("{base}{curve}{change}")).unwrap_or_else(|e| panic!("{e}"));
    for (from, to, parts) in [
        (
            "every_s = 0.0125",
            "every_s = 0.012",
            &["test.toml:12:", "every_s", "0.0083", "0.0125"][..],
        ),
        (
            "every_s = 0.0125",
            "every_s = 0.000001",
            &["every_s", "at least one step"],
        ),
        ("every_s = 0.0125", "every_s = nan", &["every_s", "NaN"]),
        ("every_s = 0.0125\n", "", &["every_s", "missing"]),
        (
            "time_s = 0.5\nevery",
            "time_s = 0.501\nevery",
            &["time_s", "whole number of steps"],
        ),
        ("time_s = 0.5\nevery", "time_s = 1\nevery", &["time_s", "ends at 1"]),
        ("[[1, 2, 3]]", "[]", &["forces_n", "empty"]),
        (
            "[[1, 2, 3]]",
            "[[1, 2, 3], [1, inf, 0]]",
            &["forces_n", "entry 1", "inf"],
        ),
        ("[[1, 2, 3]]", "[[1, 2]]", &["forces_n"]),
        ("forces_n =", "direction = \"up\"\nforces_n =", &["direction", "curve"]),
        ("forces_n =", "force_n = 3\nforces_n =", &["force_n", "curve"]),
        ("forces_n = [[1, 2, 3]]", "", &["every_s", "forces_n"]),
        (
            "controller.kp_scale",
            "controller.kp_scal",
            &["changes[0].parameter", "did you mean `controller.kp_scale`"],
        ),
        (
            "controller.kp_scale",
            "kp_scale",
            &["changes[0].parameter", "controller.gains.left_shin.kp"],
        ),
        (
            "controller.kp_scale",
            "controller.assist.kp_linear",
            &["changes[0].parameter", "there is no parameter"],
        ),
        ("value = 2", "value = -2", &["changes[0].value", "-2", "0 to"]),
        ("value = 2", "value = nan", &["changes[0].value", "NaN"]),
        (
            "time_s = 0.5\npar",
            "time_s = 2\npar",
            &["changes[0].time_s", "ends at 1"],
        ),
    ] {
        let text = format!("{base}{curve}{change}");
        assert!(text.contains(from), "{from}");
        let error = load(&text.replace(from, to))
            .err()
            .unwrap_or_else(|| panic!("{to} is accepted"));
        for part in parts {
            assert!(error.contains(part), "{to}: {error}");
        }
    }
    let text = format!("rate_hz = 240\nduration_s = 1\n{TWO}{change}");
    let error = load(&text).err().unwrap();
    assert!(error.contains("characters.1.controller.kp_scale"), "{error}");
    load(&text.replace("controller.kp_scale", "characters.1.controller.kp_scale")).unwrap_or_else(|e| panic!("{e}"));
}
