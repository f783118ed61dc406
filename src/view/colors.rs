//! Every colour of the picture. Sides, overlays and props differ in lightness as well as in hue, after the palette of
//! Okabe and Ito (2008), so that they can be told apart with any colour vision.

use kiss3d::color::Color;

/// Red, green and blue as on a screen (sRGB).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

pub(super) const LEFT: Rgb = Rgb(46, 110, 182);
pub(super) const RIGHT: Rgb = Rgb(232, 137, 48);
/// The middle of the body, character by character.
pub(super) const MIDDLE: [Rgb; 4] = [
    Rgb(214, 208, 196),
    Rgb(168, 196, 176),
    Rgb(196, 176, 206),
    Rgb(206, 196, 150),
];
pub(super) const PROPS: [Rgb; 6] = [
    Rgb(86, 180, 233),
    Rgb(230, 205, 70),
    Rgb(0, 158, 115),
    Rgb(204, 121, 167),
    Rgb(150, 110, 80),
    Rgb(120, 130, 200),
];
pub(super) const GHOST: Rgb = Rgb(0, 150, 110);
pub(super) const GROUND: Rgb = Rgb(176, 180, 184);
/// Everything that stands on the ground or leans.
pub(super) const TERRAIN: Rgb = Rgb(164, 154, 136);
pub(super) const PLATFORM: Rgb = Rgb(112, 124, 140);
pub(super) const SKY: Rgb = Rgb(222, 232, 242);
pub(super) const GRID: Rgb = Rgb(104, 110, 118);

/// Colour of a plane whose normal rises by this much: level ground, or a slope.
pub(super) fn ground(rise: f64) -> Rgb {
    if rise > 0.9999 { GROUND } else { TERRAIN }
}

impl Rgb {
    /// The colour as light, the way the film holds it before it is developed (gamma 2.2).
    pub(super) fn light(self) -> [f32; 3] {
        [self.0, self.1, self.2].map(|c| libm::powf(f32::from(c) / 255.0, 2.2))
    }

    /// From this colour (0) to another one (1).
    pub(super) fn mixed(self, other: Rgb, share: f32) -> Rgb {
        let mix = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share).round() as u8;
        Rgb(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// For kiss3d, which wants light.
    pub(super) fn with_alpha(self, alpha: f32) -> Color {
        let [r, g, b] = self.light();
        Color::new(r, g, b, alpha)
    }
}
