//! Files of pictures: PNG, and GIF written frame by frame.

use std::io::Write;

use thiserror::Error;

use super::colors::{self, Rgb};
use super::{OVERLAYS, Picture};

/// A picture could not be put into a file's format.
#[derive(Debug, Error)]
pub enum EncodeError {
    #[error("PNG: {0}")]
    Png(#[from] png::EncodingError),
    #[error("GIF: {0}")]
    Gif(#[from] gif::EncodingError),
}

impl Picture {
    /// The bytes of a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        encoder.write_header()?.write_image_data(&self.rgb)?;
        Ok(bytes)
    }
}

/// Colours of a palette; one more place is for "as before".
const COLORS: usize = 255;
const AS_BEFORE: u8 = COLORS as u8;
/// Bits per channel of the table from colours to the palette.
const BITS: u32 = 6;

/// Colours that may appear after the first frame: overlays in light and shade, props, and ghosts before what they cover.
fn expected_colors() -> Vec<Rgb> {
    let shaded = |color: &Rgb| [*color, color.mixed(Rgb(0, 0, 0), 0.4)];
    let behind = [
        colors::LEFT,
        colors::RIGHT,
        colors::MIDDLE[0],
        colors::GROUND,
        colors::SKY,
    ];
    (OVERLAYS.iter().map(|o| &o.color).chain(&colors::PROPS))
        .flat_map(shaded)
        .chain(behind.map(|b| b.mixed(colors::GHOST, 0.35)))
        .collect()
}

/// An endless GIF that is written as it is drawn.
///
/// All frames share a palette, that of the first one and of what may appear later, so that nothing flickers; what does not change from one frame to the next is
/// left out, which makes the file small.
pub struct GifWriter<W: Write> {
    encoder: gif::Encoder<W>,
    palette: Vec<[u8; 3]>,
    table: Vec<Option<u8>>,
    before: Vec<u8>,
    size: (u16, u16),
    fps: f64,
    frames: u64,
}

impl<W: Write> GifWriter<W> {
    /// Begins a file with the palette of `samples`, pictures of which the first has the size of all frames; with `fps` frames per
    /// second, up to 50 (the format counts in hundredths, and programs take one hundredth for ten).
    pub fn new(to: W, samples: &[Picture], fps: f64) -> Result<GifWriter<W>, EncodeError> {
        let size = samples
            .first()
            .map_or((1, 1), |p| (p.width.min(65535) as u16, p.height.min(65535) as u16));
        let rgba: Vec<u8> = samples
            .iter()
            .flat_map(|p| p.rgb.chunks_exact(3))
            .flat_map(|p| [p[0], p[1], p[2], 255])
            .collect();
        let expected = expected_colors();
        let quantizer = color_quant::NeuQuant::new(3, COLORS - expected.len(), &rgba);
        let mut bytes = quantizer.color_map_rgb();
        bytes.extend(expected.iter().flat_map(|c| [c.0, c.1, c.2]));
        let palette = bytes.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
        bytes.resize(3 * (COLORS + 1), 0);
        let mut encoder = gif::Encoder::new(to, size.0, size.1, &bytes)?;
        encoder.set_repeat(gif::Repeat::Infinite)?;
        Ok(GifWriter {
            encoder,
            palette,
            table: vec![None; 1 << (3 * BITS)],
            before: Vec::new(),
            size,
            fps,
            frames: 0,
        })
    }

    /// Adds a frame of the size of the first.
    pub fn write(&mut self, picture: &Picture) -> Result<(), EncodeError> {
        let mut pixels = Vec::with_capacity(picture.rgb.len() / 3);
        for p in picture.rgb.chunks_exact(3) {
            let cut = |c: u8| usize::from(c >> (8 - BITS));
            let entry = &mut self.table[cut(p[0]) << (2 * BITS) | cut(p[1]) << BITS | cut(p[2])];
            pixels.push(*entry.get_or_insert_with(|| {
                // the middle of the colours that share this entry
                let middle = |c: u8| (c >> (8 - BITS) << (8 - BITS)) | (1 << (7 - BITS));
                let wanted = [middle(p[0]), middle(p[1]), middle(p[2])];
                let off = |c: &[u8; 3]| (0..3).map(|i| u32::from(c[i].abs_diff(wanted[i])).pow(2)).sum::<u32>();
                let nearest = self.palette.iter().enumerate().min_by_key(|(_, c)| off(c));
                nearest.map_or(0, |(i, _)| i) as u8
            }));
        }
        let changed: Vec<u8> = match self.before.len() == pixels.len() {
            true => pixels
                .iter()
                .zip(&self.before)
                .map(|(new, old)| if new == old { AS_BEFORE } else { *new })
                .collect(),
            false => pixels.clone(),
        };
        // hundredths of a second, so that rounding does not add up
        let at = |frame: u64| (frame as f64 * 100.0 / self.fps).round() as u64;
        let frame = gif::Frame {
            width: self.size.0,
            height: self.size.1,
            delay: (at(self.frames + 1) - at(self.frames)).min(65535) as u16,
            dispose: gif::DisposalMethod::Keep,
            transparent: Some(AS_BEFORE),
            buffer: changed.into(),
            ..gif::Frame::default()
        };
        self.encoder.write_frame(&frame)?;
        self.before = pixels;
        self.frames += 1;
        Ok(())
    }

    /// Ends the file.
    pub fn finish(self) -> Result<W, EncodeError> {
        Ok(self.encoder.into_inner()?)
    }
}
