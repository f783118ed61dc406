//! Something that can draw, found before kiss3d looks for it: without one kiss3d panics, and where OpenGL is asked for several
//! samples a pixel on the processor it draws nothing but black.
//!
//! In this order: a graphics card by Vulkan, Metal or DirectX 12; OpenGL, by a card or by Mesa on the processor; Vulkan on
//! the processor. Mesa's Vulkan for the processor comes last because it (22.3 at least, that of Debian 12) compiles
//! kiss3d's shader anew for every draw call and keeps every copy, about 20 MB a picture, where its OpenGL keeps nothing and
//! is three times as fast. The variable `WGPU_BACKEND` (`vulkan`, `gl`) chooses, as everywhere with wgpu.

use kiss3d::context::Context;
use kiss3d::pollster::block_on;
use kiss3d::window::NumSamples;
use thiserror::Error;
use wgpu::rwh;

const CARDS: wgpu::Backends = wgpu::Backends::VULKAN
    .union(wgpu::Backends::METAL)
    .union(wgpu::Backends::DX12);

/// Nothing on this machine can draw.
#[derive(Debug, Error, Clone, PartialEq)]
#[error(
    "nothing on this machine can draw: {0}. Install a Vulkan driver; without a graphics card `mesa-vulkan-drivers` (Debian, \
     Ubuntu, Fedora), `vulkan-swrast` (Arch) or `mesa-vulkan-swrast` (Alpine) draws on the processor, better still with Mesa's \
     OpenGL beside it (Debian, Ubuntu: `libegl1 libgl1-mesa-dri`)"
)]
pub struct AdapterError(pub String);

/// What draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// Such as `llvmpipe (LLVM 15.0.6, 256 bits) (Gl)`.
    pub name: String,
    /// What should be known about it.
    pub note: Option<&'static str>,
    /// Samples a pixel that it draws properly.
    pub samples: u8,
}

/// The display of the X server that `DISPLAY` names.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct DefaultX11;

#[cfg(target_os = "linux")]
impl rwh::HasDisplayHandle for DefaultX11 {
    fn display_handle(&self) -> Result<rwh::DisplayHandle<'_>, rwh::HandleError> {
        let raw = rwh::RawDisplayHandle::Xlib(rwh::XlibDisplayHandle::new(None, 0));
        // SAFETY: there is no pointer in it that could dangle; EGL opens the default display itself
        Ok(unsafe { rwh::DisplayHandle::borrow_raw(raw) })
    }
}

/// For windows on X11 OpenGL has to know the display beforehand; no other backend does.
fn instance(backends: wgpu::Backends, for_window: bool) -> Option<wgpu::Instance> {
    if for_window && backends == wgpu::Backends::GL && cfg!(target_os = "linux") {
        return gl_on_x11();
    }
    Some(wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    }))
}

/// OpenGL for windows on the display that `DISPLAY` names.
///
/// An instance that is told its display takes windows of that very connection only, and winit makes one of its own. Made
/// from its parts it takes any.
#[cfg(target_os = "linux")]
fn gl_on_x11() -> Option<wgpu::Instance> {
    use wgpu::hal::Instance as _;
    use wgpu::rwh::HasDisplayHandle as _;
    let descriptor = wgpu::hal::InstanceDescriptor {
        name: "ambler",
        flags: wgpu::InstanceFlags::empty(),
        memory_budget_thresholds: wgpu::MemoryBudgetThresholds::default(),
        backend_options: wgpu::BackendOptions::default(),
        telemetry: None,
        display: DefaultX11.display_handle().ok(),
    };
    // SAFETY: the descriptor is whole, and its display handle holds no pointer
    let gl = unsafe { <wgpu::hal::api::Gles as wgpu::hal::Api>::Instance::init(&descriptor) }.ok()?;
    // SAFETY: it was just made and nobody else has it
    Some(unsafe { wgpu::Instance::from_hal::<wgpu::hal::api::Gles>(gl) })
}

#[cfg(not(target_os = "linux"))]
fn gl_on_x11() -> Option<wgpu::Instance> {
    None
}

fn request(backends: wgpu::Backends, for_window: bool) -> Option<(wgpu::Instance, wgpu::Adapter)> {
    if backends.is_empty() {
        return None;
    }
    let instance = instance(backends, for_window)?;
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::default(),
        compatible_surface: None,
        force_fallback_adapter: false,
        apply_limit_buckets: false,
    };
    let adapter = block_on(instance.request_adapter(&options)).ok()?;
    Some((instance, adapter))
}

/// The best there is.
fn find(for_window: bool) -> Result<(wgpu::Instance, wgpu::Adapter), AdapterError> {
    let wanted = wgpu::Backends::from_env();
    let allowed = |backends: wgpu::Backends| wanted.map_or(backends, |w| w & backends);
    let card = request(allowed(CARDS), for_window);
    let is_card = |found: &(wgpu::Instance, wgpu::Adapter)| found.1.get_info().device_type != wgpu::DeviceType::Cpu;
    if let Some(found) = card.as_ref().filter(|f| is_card(f)) {
        return Ok(found.clone());
    }
    // winit prefers Wayland, for which the display would have to be known beforehand
    let possible = !for_window || std::env::var_os("WAYLAND_DISPLAY").is_none_or(|v| v.is_empty());
    let gl = possible
        .then(|| request(allowed(wgpu::Backends::GL), for_window))
        .flatten();
    gl.or(card).ok_or_else(|| {
        AdapterError(match wanted {
            Some(wanted) => format!("WGPU_BACKEND allows only {wanted:?}, and there is no driver for it"),
            None => "there is no driver for Vulkan, Metal, DirectX 12 or OpenGL".into(),
        })
    })
}

fn describe(adapter: &wgpu::Adapter) -> Adapter {
    let info = adapter.get_info();
    let on_processor = info.device_type == wgpu::DeviceType::Cpu;
    let gl = info.backend == wgpu::Backend::Gl;
    Adapter {
        name: format!("{} ({:?})", info.name, info.backend),
        note: (on_processor && !gl).then_some(
            "Vulkan on the processor may keep 20 MB of memory for every picture; with Mesa's OpenGL (Debian, Ubuntu: \
             `libegl1 libgl1-mesa-dri`) ambler draws in constant memory",
        ),
        samples: if gl { 1 } else { 4 },
    }
}

impl Adapter {
    /// For kiss3d.
    pub(super) fn num_samples(&self) -> NumSamples {
        match self.samples {
            1 => NumSamples::One,
            _ => NumSamples::Four,
        }
    }
}

/// Gives kiss3d something that draws into memory in this thread, unless it has it already.
pub(super) fn open_context() -> Result<Adapter, AdapterError> {
    if Context::is_initialized() {
        return Ok(describe(&Context::get().adapter));
    }
    let (instance, adapter) = find(false)?;
    give(instance, adapter)
}

/// Finds what will draw into a window. kiss3d finds all but OpenGL by itself, and with the window it learns its format.
pub(super) fn open_window_context() -> Result<Adapter, AdapterError> {
    let (instance, adapter) = find(true)?;
    match adapter.get_info().backend {
        wgpu::Backend::Gl => give(instance, adapter),
        _ => Ok(describe(&adapter)),
    }
}

fn give(instance: wgpu::Instance, adapter: wgpu::Adapter) -> Result<Adapter, AdapterError> {
    let request = wgpu::DeviceDescriptor {
        label: Some("ambler"),
        required_features: wgpu::Features::empty(),
        // kiss3d's materials need more bind groups than wgpu's defaults
        required_limits: adapter.limits(),
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::default(),
        trace: wgpu::Trace::Off,
    };
    let (device, queue) = block_on(adapter.request_device(&request))
        .map_err(|e| AdapterError(format!("{} refuses: {e}", adapter.get_info().name)))?;
    let described = describe(&adapter);
    Context::init(instance, device, queue, adapter, wgpu::TextureFormat::Rgba8Unorm);
    Ok(described)
}
