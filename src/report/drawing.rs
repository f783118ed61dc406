//! A picture as a list of marks, before it is SVG or PNG.
//!
//! Units are those of CSS: 96 to the inch, origin at the top left, y down.

/// A colour by what it is for, so that a page can choose another shade of it in the dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Text,
    Muted,
    Grid,
    Blue,
    Vermillion,
    Green,
    Purple,
    Sky,
    Amber,
}

impl Ink {
    pub const ALL: [Ink; 9] = [
        Ink::Text,
        Ink::Muted,
        Ink::Grid,
        Ink::Blue,
        Ink::Vermillion,
        Ink::Green,
        Ink::Purple,
        Ink::Sky,
        Ink::Amber,
    ];

    /// On white paper. The colours are those of M. Okabe and K. Ito, "Color Universal Design", 2008, which people with any kind of
    /// colour vision tell apart.
    pub fn rgb(self) -> [u8; 3] {
        match self {
            Ink::Text => [0x22, 0x22, 0x22],
            Ink::Muted => [0x66, 0x66, 0x66],
            Ink::Grid => [0xdd, 0xdd, 0xdd],
            Ink::Blue => [0x00, 0x72, 0xb2],
            Ink::Vermillion => [0xd5, 0x5e, 0x00],
            Ink::Green => [0x00, 0x9e, 0x73],
            Ink::Purple => [0xcc, 0x79, 0xa7],
            Ink::Sky => [0x56, 0xb4, 0xe9],
            Ink::Amber => [0xe6, 0x9f, 0x00],
        }
    }

    /// The same on a dark page.
    pub fn rgb_in_the_dark(self) -> [u8; 3] {
        match self {
            Ink::Text => [0xe6, 0xe6, 0xe6],
            Ink::Muted => [0xa0, 0xa0, 0xa0],
            Ink::Grid => [0x3d, 0x3d, 0x3d],
            Ink::Blue => [0x3d, 0x9b, 0xd8],
            Ink::Vermillion => [0xf0, 0x7e, 0x26],
            Ink::Green => [0x1e, 0xb9, 0x8c],
            other => other.rgb(),
        }
    }

    /// What the page's style sheet calls it.
    pub fn name(self) -> &'static str {
        match self {
            Ink::Text => "text",
            Ink::Muted => "muted",
            Ink::Grid => "grid",
            Ink::Blue => "blue",
            Ink::Vermillion => "vermillion",
            Ink::Green => "green",
            Ink::Purple => "purple",
            Ink::Sky => "sky",
            Ink::Amber => "amber",
        }
    }
}

/// How a line is broken, so that lines differ in grey too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Dashed,
    Dotted,
    DashDot,
}

impl Dash {
    /// Lengths of strokes and gaps in turn; empty if unbroken.
    pub fn lengths(self) -> &'static [f64] {
        match self {
            Dash::Solid => &[],
            Dash::Dashed => &[6.0, 3.0],
            Dash::Dotted => &[1.5, 2.0],
            Dash::DashDot => &[7.0, 2.5, 1.5, 2.5],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    pub ink: Ink,
    pub width: f64,
    pub dash: Dash,
}

impl Stroke {
    /// Of a curve.
    pub fn new(ink: Ink, dash: Dash) -> Stroke {
        Stroke { ink, width: 1.4, dash }
    }

    pub fn solid(ink: Ink) -> Stroke {
        Stroke::new(ink, Dash::Solid)
    }

    pub fn width(self, width: f64) -> Stroke {
        Stroke { width, ..self }
    }
}

/// Which part of a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Line {
        points: Vec<[f64; 2]>,
        stroke: Stroke,
    },
    /// A filled polygon.
    Area {
        points: Vec<[f64; 2]>,
        ink: Ink,
        opacity: f64,
    },
    Dot {
        center: [f64; 2],
        radius: f64,
        ink: Ink,
    },
    /// Many dots of one kind; where they lie upon each other they are no darker.
    Dots {
        centers: Vec<[f64; 2]>,
        radius: f64,
        ink: Ink,
        opacity: f64,
    },
    /// `at` is on the base line; upright text reads from bottom to top.
    Text {
        at: [f64; 2],
        text: String,
        size: f64,
        ink: Ink,
        anchor: Anchor,
        upright: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub marks: Vec<Mark>,
}

impl Drawing {
    pub fn new(width: f64, height: f64) -> Drawing {
        Drawing {
            width,
            height,
            marks: Vec::new(),
        }
    }

    /// A line through points; what has less than two is nothing.
    pub fn line(&mut self, points: Vec<[f64; 2]>, stroke: Stroke) {
        if points.len() > 1 {
            self.marks.push(Mark::Line { points, stroke });
        }
    }

    pub fn area(&mut self, points: Vec<[f64; 2]>, ink: Ink, opacity: f64) {
        if points.len() > 2 {
            self.marks.push(Mark::Area { points, ink, opacity });
        }
    }

    pub fn rect(&mut self, [left, top]: [f64; 2], [width, height]: [f64; 2], ink: Ink, opacity: f64) {
        let (right, bottom) = (left + width, top + height);
        let points = vec![[left, top], [right, top], [right, bottom], [left, bottom]];
        self.area(points, ink, opacity);
    }

    pub fn dot(&mut self, center: [f64; 2], radius: f64, ink: Ink) {
        self.marks.push(Mark::Dot { center, radius, ink });
    }

    pub fn dots(&mut self, centers: Vec<[f64; 2]>, radius: f64, ink: Ink, opacity: f64) {
        if !centers.is_empty() {
            self.marks.push(Mark::Dots {
                centers,
                radius,
                ink,
                opacity,
            });
        }
    }

    /// Text of the usual size.
    pub fn text(&mut self, at: [f64; 2], text: impl Into<String>, ink: Ink, anchor: Anchor) {
        self.text_of_size(at, text, SMALL, ink, anchor);
    }

    pub fn text_of_size(&mut self, at: [f64; 2], text: impl Into<String>, size: f64, ink: Ink, anchor: Anchor) {
        self.marks.push(Mark::Text {
            at,
            text: text.into(),
            size,
            ink,
            anchor,
            upright: false,
        });
    }

    /// Text that reads from bottom to top, centred on `at`.
    pub fn upright_text(&mut self, at: [f64; 2], text: impl Into<String>, ink: Ink) {
        self.upright_text_of_size(at, text, SMALL, ink, Anchor::Middle);
    }

    pub fn upright_text_of_size(&mut self, at: [f64; 2], text: impl Into<String>, size: f64, ink: Ink, anchor: Anchor) {
        self.marks.push(Mark::Text {
            at,
            text: text.into(),
            size,
            ink,
            anchor,
            upright: true,
        });
    }
}

/// Size of the letters of ticks, labels and legends.
pub const SMALL: f64 = 11.0;
/// Of the titles of panels.
pub const MEDIUM: f64 = 12.0;
