//! Other copies of this library in the same process: another installation of flow, or another version.
//!
//! One at a time records. Each copy has its own state and its own probe class, so a copy that comes
//! later only needs to know whether another one is recording. It asks through [`flow_agent_recording`],
//! which every copy exports: its name and its signature never change. A copy that lacks it counts as
//! not recording.

#![expect(unsafe_code, reason = "looks up libraries and symbols by their C names")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

use jni::sys::{JavaVM, jint};

use crate::lifecycle;

/// A path is not longer (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;

type Recording = unsafe extern "C" fn(*mut c_char, usize) -> usize;
type OnAttach = unsafe extern "system" fn(*mut JavaVM, *const c_char, *mut c_void) -> jint;

/// Returns the directory into which this copy records now: stores up to `room` bytes of its path in `path`,
/// and returns how many bytes the path has, without a NUL; 0 while this copy does not record.
///
/// # Safety
/// `path` has room for `room` bytes, and no other code uses them.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn flow_agent_recording(path: *mut c_char, room: usize) -> usize {
    let Some(agent) = lifecycle::agent().filter(|agent| agent.recorder().is_on()) else { return 0 };
    let bytes = agent.out().as_os_str().as_bytes();
    let stored = bytes.len().min(room);
    // SAFETY: the caller's duty; the path is at least as long.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), path.cast(), stored) };
    bytes.len()
}

/// Another copy of this library, which is recording.
#[derive(Debug)]
pub(super) struct OtherCopy {
    /// The file it was loaded from.
    pub(super) library: String,
    /// Where it records.
    pub(super) out: PathBuf,
    on_attach: OnAttach,
}

impl OtherCopy {
    /// Passes a request on to this copy.
    ///
    /// # Safety
    /// The arguments are those the JVM passed to `Agent_OnAttach`, which is running.
    pub(super) unsafe fn ask(&self, vm: *mut JavaVM, options: *const c_char) -> jint {
        // SAFETY: the caller's duty; the copy is never unloaded.
        unsafe { (self.on_attach)(vm, options, ptr::null_mut()) }
    }
}

/// Returns the other copy that is recording, if there is one.
pub(super) fn other_recording() -> Option<OtherCopy> {
    let mut libraries: Vec<CString> = Vec::new();
    // SAFETY: the callback casts its argument back to this vector, and no other code uses the vector
    // meanwhile.
    unsafe { libc::dl_iterate_phdr(Some(note_library), (&raw mut libraries).cast()) };
    libraries.iter().find_map(|library| recording_copy(library))
}

/// Adds the name of a loaded library to a `Vec<CString>`.
unsafe extern "C" fn note_library(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    libraries: *mut c_void,
) -> c_int {
    // SAFETY: the linker passes the description of one library.
    let name = unsafe { (*info).dlpi_name };
    if !name.is_null() {
        // SAFETY: the name is a NUL-terminated string for as long as this function runs.
        let name = unsafe { CStr::from_ptr(name) };
        // SAFETY: the vector that `other_recording` passes.
        let libraries = unsafe { &mut *libraries.cast::<Vec<CString>>() };
        // The program itself has no name.
        if !name.is_empty() {
            libraries.push(name.to_owned());
        }
    }
    0
}

fn recording_copy(library: &CStr) -> Option<OtherCopy> {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: a NUL-terminated name; no library is loaded that is not loaded yet, so no code of it runs.
    let handle = unsafe { libc::dlopen(library.as_ptr(), flags) };
    if handle.is_null() {
        return None;
    }
    let copy = copy_of(handle, library);
    // SAFETY: the handle from above. The JVM has another one, so the library stays.
    unsafe { libc::dlclose(handle) };
    copy
}

fn copy_of(handle: *mut c_void, library: &CStr) -> Option<OtherCopy> {
    // SAFETY: a handle of the linker, and NUL-terminated names.
    let recording = unsafe { libc::dlsym(handle, c"flow_agent_recording".as_ptr()) };
    // SAFETY: as above.
    let on_attach = unsafe { libc::dlsym(handle, c"Agent_OnAttach".as_ptr()) };
    let ours: Recording = flow_agent_recording;
    if recording.is_null() || on_attach.is_null() || recording.addr() == ours as usize {
        return None;
    }
    // SAFETY: only our library has a function of this name, and its type never changes.
    let recording: Recording = unsafe { std::mem::transmute(recording) };
    // SAFETY: JVMTI specifies the type of a function of this name.
    let on_attach: OnAttach = unsafe { std::mem::transmute(on_attach) };
    let mut path = vec![0_u8; MAX_PATH_BYTES];
    // SAFETY: `path` has room for the number of bytes that is passed.
    let bytes = unsafe { recording(path.as_mut_ptr().cast(), path.len()) };
    path.truncate(bytes);
    let out = PathBuf::from(std::ffi::OsStr::from_bytes(&path));
    let library = library.to_string_lossy().into_owned();
    (bytes > 0).then_some(OtherCopy { library, out, on_attach })
}
