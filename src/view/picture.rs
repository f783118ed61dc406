//! Pictures without a display.

use std::mem::ManuallyDrop;

use kiss3d::context::Context;
use kiss3d::window::{CanvasSetup, OffscreenSurface};
use thiserror::Error;

use super::adapter::{Adapter, AdapterError, open_context};
use super::{Camera, Overlays, Stage, light};
use crate::experiment::Frame;

/// Rows of pixels from the top, red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

/// Why there is no picture.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum PictureError {
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    #[error(
        "the picture came out {0}: the graphics driver does not draw. Software Vulkan (package `mesa-vulkan-drivers`) does"
    )]
    Blank(&'static str),
}

/// Draws an experiment into memory.
///
/// A thread that has drawn should last as long as the process: kiss3d keeps what it draws with in thread-local variables,
/// which cannot be taken down one after the other when a thread ends.
pub struct Studio {
    surface: ManuallyDrop<OffscreenSurface>,
    /// Whether it is the first in its thread, whose surface stays: with its last one kiss3d throws away what all others
    /// would need, and fails at it if nothing has been drawn.
    first: bool,
    size: (u32, u32),
    /// Pictures are drawn so many times as wide and high, and averaged.
    oversampling: u32,
    adapter: Adapter,
}

impl Studio {
    /// For pictures of `width` × `height` pixels. What draws several samples a pixel does so.
    pub fn open(width: u32, height: u32) -> Result<Studio, PictureError> {
        Studio::open_with(width, height, |_| 1)
    }

    /// The same with smooth edges, whatever draws.
    pub fn open_smooth(width: u32, height: u32) -> Result<Studio, PictureError> {
        // beyond this a picture is fine enough, and cards have a largest size
        let small = width.max(height) <= 2048;
        Studio::open_with(
            width,
            height,
            |adapter| if adapter.samples == 1 && small { 2 } else { 1 },
        )
    }

    fn open_with(width: u32, height: u32, oversampling: impl Fn(&Adapter) -> u32) -> Result<Studio, PictureError> {
        let first = !Context::is_initialized();
        let adapter = open_context()?;
        let oversampling = oversampling(&adapter);
        let setup = CanvasSetup {
            samples: adapter.num_samples(),
            ..CanvasSetup::default()
        };
        let (w, h) = (width * oversampling, height * oversampling);
        let mut surface = kiss3d::pollster::block_on(OffscreenSurface::with_setup(w, h, setup));
        light(surface.window_mut());
        Ok(Studio {
            surface: ManuallyDrop::new(surface),
            first,
            size: (width, height),
            oversampling,
            adapter,
        })
    }

    /// What draws.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// For settings that are the window's.
    pub fn window_mut(&mut self) -> &mut kiss3d::window::Window {
        self.surface.window_mut()
    }

    /// One moment as the camera sees it.
    pub fn draw(
        &mut self,
        stage: &mut Stage,
        overlays: &Overlays,
        camera: &mut Camera,
        frame: &Frame,
    ) -> Result<Picture, PictureError> {
        stage.show(frame, overlays.on);
        overlays.draw_fine(self.surface.window_mut(), camera.orbit(), frame, self.oversampling);
        kiss3d::pollster::block_on(self.surface.render_3d(stage.scene_mut(), camera.orbit_mut()));
        let image = self.surface.snap_image();
        let picture = Picture {
            width: image.width(),
            height: image.height(),
            rgb: image.into_raw(),
        };
        picture.refuse_blank()?;
        Ok(match self.oversampling {
            1 => picture,
            _ => picture.halved(),
        })
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        if !self.first {
            // SAFETY: it is dropped here and nowhere else, and not used afterwards
            unsafe { ManuallyDrop::drop(&mut self.surface) };
        }
    }
}

impl Picture {
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let i = 3 * (y as usize * self.width as usize + x as usize);
        [self.rgb[i], self.rgb[i + 1], self.rgb[i + 2]]
    }

    /// Half as wide and high, every pixel the mean of four.
    fn halved(&self) -> Picture {
        let (width, height) = (self.width / 2, self.height / 2);
        let mut rgb = Vec::with_capacity(3 * (width * height) as usize);
        for y in 0..height {
            for x in 0..width {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| self.pixel(2 * x + i, 2 * y + j));
                rgb.extend((0..3).map(|c| ((four.iter().map(|p| u32::from(p[c])).sum::<u32>() + 2) / 4) as u8));
            }
        }
        Picture { width, height, rgb }
    }

    /// A picture of one colour shows nothing, whatever the colour.
    fn refuse_blank(&self) -> Result<(), PictureError> {
        let first = self.pixel(0, 0);
        if self.rgb.chunks_exact(3).any(|p| p != first) {
            return Ok(());
        }
        Err(PictureError::Blank(if first == [0; 3] {
            "black"
        } else {
            "of one colour"
        }))
    }
}
