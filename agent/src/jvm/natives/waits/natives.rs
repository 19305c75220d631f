//! Native methods of the JDK in which threads wait, wrapped by functions that store the begin and the end of the wait.
//!
//! The JVM announces each native method with the function that it is bound to, and lets an agent choose another one. Those of
//! `Unsafe` and `Thread` are bound before their names can be asked for: their functions are noted then, and replaced in the
//! initialiser of the probe class. There, code of the JDK is on the stack, without which the JVM warns on the program's output.
//!
//! A wrapper calls the function that it replaces, whatever happens, and so does one that is left when the recording has ended.
//!
//! Reads wait only if there is nothing to read, which is checked before. What files on a disk take is known afterwards: a read or
//! write of at least [`LONG_NS`] is a wait. So is a write for which there is room, but not enough. A connection of a stream waits for
//! an answer.

#![expect(unsafe_code, reason = "functions that the JVM calls, and that call functions of the JVM")]

use std::ffi::{CStr, c_void};
use std::mem;
use std::sync::atomic::{AtomicPtr, Ordering};

use flow_codec::ThreadId;
use flow_codec::format::values::waits::WaitKind;
use jni::sys::{JNIEnv, jboolean, jbyteArray, jint, jlong, jobject};
use jvmti_rs::sys;
use parking_lot::Mutex;

use super::{Begun, NOTHING, begin, end, while_recording};
use crate::jvm::jvmti::{CallbackTable, Jvmti};
use crate::jvm::vm::native;
use crate::jvm::{Vm, state};
use crate::lifecycle::Agent;
use crate::sys::allocator;

/// A read or write that takes at least as long is a wait.
const LONG_NS: u64 = 100_000;

/// A native method that is wrapped.
struct Wrapped {
    class: &'static CStr,
    name: &'static CStr,
    descriptor: &'static CStr,
    wrapper: fn() -> *const c_void,
    original: &'static AtomicPtr<c_void>,
}

/// Methods that are bound before their names are known, with the function that each was bound to.
static EARLY: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// More methods are not bound before the probe class is defined.
const MAX_EARLY: usize = 4096;

/// Adds the callback.
pub(in crate::jvm) fn add_callback(table: &mut CallbackTable) {
    table.known.NativeMethodBind = Some(native_method_bind);
}

unsafe extern "C" fn native_method_bind(
    jvmti: *mut sys::jvmtiEnv,
    _jni: *mut sys::JNIEnv,
    _thread: sys::jobject,
    method: sys::jmethodID,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    if !allocator::has_thread_locals() {
        return;
    }
    // SAFETY: our only environment, which is never disposed of.
    let jvmti = unsafe { Jvmti::new(jvmti) };
    let mut replaced = None;
    while_recording(|_| replaced = on_bind(jvmti, method, address));
    if let Some(wrapper) = replaced {
        // SAFETY: a place for the function, which has the same signature.
        unsafe { *new_address = wrapper.cast_mut() };
    }
}

/// Returns the wrapper for a method that is being bound to a function.
fn on_bind(jvmti: Jvmti, method: sys::jmethodID, address: *mut c_void) -> Option<*const c_void> {
    let Some((name, descriptor)) = jvmti.method_name(method) else {
        let mut early = EARLY.lock();
        if early.len() < MAX_EARLY {
            early.push((method.expose_provenance(), address.expose_provenance()));
        }
        return None;
    };
    let is_meant = |wrapped: &&Wrapped| {
        wrapped.name.to_bytes() == name.as_bytes()
            && wrapped.descriptor.to_bytes() == descriptor.as_bytes()
    };
    LATER.iter().find(is_meant)?;
    let class = jvmti.signature_of_declaring_class(method)?;
    let class = class.strip_prefix('L')?.strip_suffix(';')?;
    let wrapped = LATER.iter().filter(is_meant);
    let wrapped = { wrapped }.find(|wrapped| wrapped.class.to_bytes() == class.as_bytes())?;
    // Release pairs with Acquire in `original`.
    wrapped.original.store(address, Ordering::Release);
    Some((wrapped.wrapper)())
}

/// Wraps the methods that were bound early. To be called from a native method of a class of the JDK.
pub(in crate::jvm) fn wrap_early(vm: &Vm<'_>) {
    let early = mem::take(&mut *EARLY.lock());
    let mut count = 0;
    for wrapped in &FIRST {
        let Some((class, method)) = vm.find_native(wrapped.class, wrapped.name, wrapped.descriptor)
        else {
            continue;
        };
        if let Some((_, address)) = early.iter().find(|(known, _)| *known == method) {
            let address = std::ptr::with_exposed_provenance_mut(*address);
            // Release pairs with Acquire in `original`.
            wrapped.original.store(address, Ordering::Release);
            let wrapper = native(wrapped.name, wrapped.descriptor, (wrapped.wrapper)());
            // SAFETY: the function has this signature.
            count += usize::from(unsafe { vm.register_natives(class, &[wrapper]) });
        }
        vm.forget(class);
    }
    if count < PARK_AND_SLEEP {
        log::warn!(
            "waits=on: parks or sleeps are not recorded, because this JVM does not announce their methods"
        );
    }
}

/// How many of the [first](FIRST) methods a JDK has.
const PARK_AND_SLEEP: usize = 2;

/// When it is known whether a thread waits.
enum Known {
    /// The thread will wait for this, if that is no null.
    Now(jobject),
    /// The thread will wait for this socket, whatever the method is for.
    OnSocket(jobject),
    /// The call takes long, or does not.
    Afterwards(jobject),
    /// The call takes long, or does not, and is of a socket, whatever the method is for.
    AfterwardsOnSocket(jobject),
    /// The thread will not wait.
    Never,
}

/// Calls a native method in which the current thread may wait.
fn around<R>(
    jni: *mut JNIEnv,
    kind: WaitKind,
    known: impl FnOnce(&Vm<'_>) -> Known,
    call: impl FnOnce() -> R,
) -> R {
    let Some(jvmti) = state::current().filter(|_| allocator::has_thread_locals()) else {
        return call();
    };
    let with_vm = |body: &mut dyn FnMut(&Agent, &Vm<'_>)| {
        while_recording(|agent| {
            let Some(thread) = jvmti.current_thread() else { return };
            // SAFETY: the environments of the current thread, which is in a native method.
            let vm = unsafe { Vm::new(jvmti, jni.cast(), thread) };
            body(agent, &vm);
            vm.forget(thread);
        });
    };
    let (mut begun, mut later) = (None, None);
    let mut known = Some(known);
    let on_socket = WaitKind::Network;
    with_vm(&mut |agent, vm| match known.take().map(|known| known(vm)) {
        Some(Known::OnSocket(file)) => {
            begun = begin(vm, agent, on_socket, file, None, || None);
        }
        Some(Known::Now(object)) => {
            begun = begin(vm, agent, kind, object, None, || holder(vm, kind, object));
            if kind == WaitKind::Park {
                vm.forget(object);
            }
        }
        Some(Known::Afterwards(object)) => {
            later = Some((kind, object, agent.recorder().elapsed_ns()));
        }
        Some(Known::AfterwardsOnSocket(file)) => {
            later = Some((on_socket, file, agent.recorder().elapsed_ns()));
        }
        _ => {}
    });
    let result = call();
    if let Some((kind, object, began_ns)) = later {
        with_vm(&mut |agent, vm| {
            if agent.recorder().elapsed_ns().saturating_sub(began_ns) >= LONG_NS && !vm.has_thrown()
            {
                begun = begin(vm, agent, kind, object, Some(began_ns), || None);
            }
        });
    }
    if let Some(begun) = begun {
        ended(jni, jvmti, begun);
    }
    result
}

/// An exception may be pending.
fn ended(jni: *mut JNIEnv, jvmti: Jvmti, begun: Begun) {
    while_recording(|agent| {
        // SAFETY: the environments of the current thread, which is in a native method.
        end(&unsafe { Vm::new(jvmti, jni.cast(), NOTHING) }, agent, begun);
    });
}

/// The thread that holds the blocker of a park: a lock of `java.util.concurrent`.
pub(super) fn holder(vm: &Vm<'_>, kind: WaitKind, blocker: jobject) -> Option<ThreadId> {
    match kind {
        WaitKind::Park if !blocker.is_null() => vm.owner_of_synchronizer(blocker),
        _ => None,
    }
}

/// Returns the function of this type that a wrapper replaces.
macro_rules! original {
    ($place:ident as $type:ty) => {{
        // Acquire pairs with Release where the method is wrapped, before the wrapper can be called.
        let function = $place.load(Ordering::Acquire);
        // SAFETY: the function of the native method that the wrapper replaces, which has this signature.
        unsafe { mem::transmute::<*mut c_void, $type>(function) }
    }};
}

/// Defines a wrapper of a native method with these arguments, and the place for the function that it replaces.
macro_rules! wrapper {
    ($name:ident, $place:ident, ($this:ident, $($argument:ident: $type:ty),*) -> $result:ty, $kind:expr, $known:expr) => {
        static $place: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

        unsafe extern "system" fn $name(jni: *mut JNIEnv, $this: jobject, $($argument: $type),*) -> $result {
            let function =
                original!($place as unsafe extern "system" fn(*mut JNIEnv, jobject, $($type),*) -> $result);
            // SAFETY: the arguments of this function.
            let call = || unsafe { function(jni, $this, $($argument),*) };
            let known: fn(&Vm<'_>, jobject, $($type),*) -> Known = $known;
            around(jni, $kind, |vm| known(vm, $this, $($argument),*), call)
        }
    };
}

wrapper!(park, PARK, (this, absolute: jboolean, time: jlong) -> (), WaitKind::Park,
    |vm, _, _, _| Known::Now(vm.blocker_of_current()));
wrapper!(sleep, SLEEP, (this, time: jlong) -> (), WaitKind::Sleep, |_, _, _| Known::Now(NOTHING));
wrapper!(poll, POLL, (this, file: jobject, events: jint, timeout: jlong) -> jint, WaitKind::Network,
    |_, _, file, _, timeout| if timeout == 0 { Known::Never } else { Known::Now(file) });
wrapper!(accept, ACCEPT, (this, file: jobject, new: jobject, addresses: jobject) -> jint, WaitKind::Network,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLIN, false));
wrapper!(accept_plain, ACCEPT_PLAIN, (this, new: jobject) -> (), WaitKind::Network,
    |vm, this, _| accept_of(vm, this));
wrapper!(read_plain, READ_PLAIN, (this, file: jobject, array: jbyteArray, from: jint, bytes: jint, timeout: jint) -> jint,
    WaitKind::Network, |vm, _, file, _, _, _, _| transfer_of(vm, file, libc::POLLIN, false));
wrapper!(select, SELECT, (this, epoll: jint, address: jlong, events: jint, timeout: jint) -> jint, WaitKind::Network,
    |_, _, _, _, _, timeout| if timeout == 0 { Known::Never } else { Known::Now(NOTHING) });
wrapper!(read_socket, READ_SOCKET, (this, file: jobject, address: jlong, bytes: jint) -> jint, WaitKind::Network,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLIN, false));
wrapper!(read_file, READ_FILE, (this, file: jobject, address: jlong, bytes: jint) -> jint, WaitKind::File,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLIN, true));
wrapper!(read_at, READ_AT, (this, file: jobject, address: jlong, bytes: jint, at: jlong) -> jint, WaitKind::File,
    |vm, _, file, _, _, _| transfer_of(vm, file, libc::POLLIN, true));
wrapper!(read_stream, READ_STREAM, (this, array: jbyteArray, from: jint, bytes: jint) -> jint, WaitKind::File,
    |vm, this, _, _, _| read_of_stream(vm, this));
wrapper!(read_random, READ_RANDOM, (this, array: jbyteArray, from: jint, bytes: jint) -> jint, WaitKind::File,
    |_, this, _, _, _| Known::Afterwards(this));

wrapper!(connect, CONNECT, (this, ipv6: jboolean, file: jobject, address: jobject, port: jint) -> jint, WaitKind::Network,
    |vm, _, _, file, _, _| connect_of(vm, file));
wrapper!(connect_plain, CONNECT_PLAIN, (this, address: jobject, port: jint, timeout: jint) -> (), WaitKind::Network,
    |vm, this, _, _, _| connect_plain_of(vm, this));
wrapper!(poll_connect, POLL_CONNECT, (this, file: jobject, timeout: jlong) -> jboolean, WaitKind::Network,
    |_, _, file, timeout| if timeout == 0 { Known::Never } else { Known::Now(file) });
wrapper!(write_plain, WRITE_PLAIN, (this, file: jobject, array: jbyteArray, from: jint, bytes: jint) -> (), WaitKind::Network,
    |vm, _, file, _, _, _| transfer_of(vm, file, libc::POLLOUT, true));
wrapper!(write_socket, WRITE_SOCKET, (this, file: jobject, address: jlong, bytes: jint) -> jint, WaitKind::Network,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLOUT, true));
wrapper!(write_socket_all, WRITE_SOCKET_ALL, (this, file: jobject, address: jlong, count: jint) -> jlong, WaitKind::Network,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLOUT, true));
wrapper!(write_file, WRITE_FILE, (this, file: jobject, address: jlong, bytes: jint) -> jint, WaitKind::File,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLOUT, true));
wrapper!(write_file_all, WRITE_FILE_ALL, (this, file: jobject, address: jlong, count: jint) -> jlong, WaitKind::File,
    |vm, _, file, _, _| transfer_of(vm, file, libc::POLLOUT, true));

/// Whether a read or write of a file descriptor waits. `is_known_later`: it may do so though the file is ready for it, as those on a
/// disk always are.
fn transfer_of(vm: &Vm<'_>, file: jobject, for_what: libc::c_short, is_known_later: bool) -> Known {
    let Some(number) = vm.number_of_file(file) else { return Known::Never };
    // JDK 11 and 17 read and write channels of sockets like files.
    let is_on_socket = || is_known_later && is_socket(number);
    match (will_wait(number, for_what), is_known_later) {
        (true, _) if is_on_socket() => Known::OnSocket(file),
        (true, _) => Known::Now(file),
        (false, true) if is_on_socket() => Known::AfterwardsOnSocket(file),
        (false, true) => Known::Afterwards(file),
        (false, false) => Known::Never,
    }
}

/// Whether to connect a socket waits: that of a stream does, for an answer, if it is a blocking one.
fn connect_of(vm: &Vm<'_>, file: jobject) -> Known {
    match vm.number_of_file(file).is_some_and(|file| is_blocking(file) && is_stream(file)) {
        true => Known::OnSocket(file),
        false => Known::Never,
    }
}

/// Whether to connect a socket before JDK 13 waits, which it does for a time by itself.
fn connect_plain_of(vm: &Vm<'_>, socket: jobject) -> Known {
    vm.file_of_socket(socket).map_or(Known::Never, Known::OnSocket)
}

/// Whether an accept of a socket before JDK 13 waits: by a poll, so that the file itself never waits.
fn accept_of(vm: &Vm<'_>, socket: jobject) -> Known {
    let file = vm.file_of_socket(socket);
    let file = file
        .filter(|file| vm.number_of_file(*file).is_some_and(|file| !is_ready(file, libc::POLLIN)));
    file.map_or(Known::Never, Known::Now)
}

/// Whether a read of a `FileInputStream` waits, which may be one of a pipe or terminal.
fn read_of_stream(vm: &Vm<'_>, stream: jobject) -> Known {
    match vm.number_of_stream(stream).is_some_and(|file| will_wait(file, libc::POLLIN)) {
        true => Known::Now(stream),
        false => Known::Afterwards(stream),
    }
}

/// Returns whether a transfer waits: the file is not ready, and is one that waits.
fn will_wait(file: i32, for_what: libc::c_short) -> bool {
    !is_ready(file, for_what) && is_blocking(file)
}

fn is_blocking(file: i32) -> bool {
    // SAFETY: has no preconditions; another file under this number does no harm.
    unsafe { libc::fcntl(file, libc::F_GETFL) & libc::O_NONBLOCK == 0 }
}

/// Returns whether there is something to read or room to write, or an error.
fn is_ready(file: i32, for_what: libc::c_short) -> bool {
    let mut asked = libc::pollfd { fd: file, events: for_what, revents: 0 };
    // SAFETY: one structure, for the length of the call.
    unsafe { libc::poll(&raw mut asked, 1, 0) != 0 }
}

/// Returns whether a file is a socket with connections.
fn is_stream(file: i32) -> bool {
    let mut of_socket: i32 = 0;
    let mut size: libc::socklen_t = 4;
    let place = (&raw mut of_socket).cast();
    // SAFETY: a place of this size for the result.
    let failed =
        unsafe { libc::getsockopt(file, libc::SOL_SOCKET, libc::SO_TYPE, place, &raw mut size) };
    failed == 0 && of_socket == libc::SOCK_STREAM
}

fn is_socket(file: i32) -> bool {
    let mut facts = mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: a place for the result; another file under this number does no harm.
    let found = unsafe { libc::fstat(file, facts.as_mut_ptr()) } == 0;
    // SAFETY: plain numbers, for which zero is a value.
    found && unsafe { facts.assume_init() }.st_mode & libc::S_IFMT == libc::S_IFSOCK
}

macro_rules! wrapped {
    ($class:literal, $name:literal, $descriptor:literal, $wrapper:ident, $place:ident) => {
        Wrapped {
            class: $class,
            name: $name,
            descriptor: $descriptor,
            wrapper: || $wrapper as *const c_void,
            original: &$place,
        }
    };
}

/// Methods that are bound before VMStart. Of those of `Thread`, a JDK has one.
static FIRST: [Wrapped; 4] = [
    wrapped!(c"jdk/internal/misc/Unsafe", c"park", c"(ZJ)V", park, PARK),
    wrapped!(c"java/lang/Thread", c"sleep", c"(J)V", sleep, SLEEP),
    wrapped!(c"java/lang/Thread", c"sleep0", c"(J)V", sleep, SLEEP),
    wrapped!(c"java/lang/Thread", c"sleepNanos0", c"(J)V", sleep, SLEEP),
];

/// Methods that are bound when they are called first.
static LATER: [Wrapped; 23] = [
    wrapped!(c"sun/nio/ch/Net", c"poll", c"(Ljava/io/FileDescriptor;IJ)I", poll, POLL),
    wrapped!(
        c"sun/nio/ch/Net",
        c"accept",
        c"(Ljava/io/FileDescriptor;Ljava/io/FileDescriptor;[Ljava/net/InetSocketAddress;)I",
        accept,
        ACCEPT
    ),
    // Instead of `Net.accept`, in older JDKs.
    wrapped!(
        c"sun/nio/ch/ServerSocketChannelImpl",
        c"accept0",
        c"(Ljava/io/FileDescriptor;Ljava/io/FileDescriptor;[Ljava/net/InetSocketAddress;)I",
        accept,
        ACCEPT
    ),
    // Sockets of streams, before JDK 13 (JEP 353).
    wrapped!(
        c"java/net/PlainSocketImpl",
        c"socketAccept",
        c"(Ljava/net/SocketImpl;)V",
        accept_plain,
        ACCEPT_PLAIN
    ),
    wrapped!(
        c"java/net/SocketInputStream",
        c"socketRead0",
        c"(Ljava/io/FileDescriptor;[BIII)I",
        read_plain,
        READ_PLAIN
    ),
    wrapped!(c"sun/nio/ch/EPoll", c"wait", c"(IJII)I", select, SELECT),
    wrapped!(
        c"sun/nio/ch/SocketDispatcher",
        c"read0",
        c"(Ljava/io/FileDescriptor;JI)I",
        read_socket,
        READ_SOCKET
    ),
    wrapped!(
        c"sun/nio/ch/FileDispatcherImpl",
        c"read0",
        c"(Ljava/io/FileDescriptor;JI)I",
        read_file,
        READ_FILE
    ),
    wrapped!(
        c"sun/nio/ch/UnixFileDispatcherImpl",
        c"read0",
        c"(Ljava/io/FileDescriptor;JI)I",
        read_file,
        READ_FILE
    ),
    wrapped!(
        c"sun/nio/ch/FileDispatcherImpl",
        c"pread0",
        c"(Ljava/io/FileDescriptor;JIJ)I",
        read_at,
        READ_AT
    ),
    wrapped!(
        c"sun/nio/ch/UnixFileDispatcherImpl",
        c"pread0",
        c"(Ljava/io/FileDescriptor;JIJ)I",
        read_at,
        READ_AT
    ),
    wrapped!(c"java/io/FileInputStream", c"readBytes", c"([BII)I", read_stream, READ_STREAM),
    wrapped!(c"java/io/RandomAccessFile", c"readBytes", c"([BII)I", read_random, READ_RANDOM),
    wrapped!(c"java/io/RandomAccessFile", c"readBytes0", c"([BII)I", read_random, READ_RANDOM),
    wrapped!(
        c"sun/nio/ch/Net",
        c"connect0",
        c"(ZLjava/io/FileDescriptor;Ljava/net/InetAddress;I)I",
        connect,
        CONNECT
    ),
    wrapped!(
        c"sun/nio/ch/Net",
        c"pollConnect",
        c"(Ljava/io/FileDescriptor;J)Z",
        poll_connect,
        POLL_CONNECT
    ),
    // Sockets of streams, before JDK 13.
    wrapped!(
        c"java/net/PlainSocketImpl",
        c"socketConnect",
        c"(Ljava/net/InetAddress;II)V",
        connect_plain,
        CONNECT_PLAIN
    ),
    wrapped!(
        c"java/net/SocketOutputStream",
        c"socketWrite0",
        c"(Ljava/io/FileDescriptor;[BII)V",
        write_plain,
        WRITE_PLAIN
    ),
    wrapped!(
        c"sun/nio/ch/SocketDispatcher",
        c"write0",
        c"(Ljava/io/FileDescriptor;JI)I",
        write_socket,
        WRITE_SOCKET
    ),
    wrapped!(
        c"sun/nio/ch/SocketDispatcher",
        c"writev0",
        c"(Ljava/io/FileDescriptor;JI)J",
        write_socket_all,
        WRITE_SOCKET_ALL
    ),
    wrapped!(
        c"sun/nio/ch/FileDispatcherImpl",
        c"write0",
        c"(Ljava/io/FileDescriptor;JI)I",
        write_file,
        WRITE_FILE
    ),
    wrapped!(
        c"sun/nio/ch/FileDispatcherImpl",
        c"writev0",
        c"(Ljava/io/FileDescriptor;JI)J",
        write_file_all,
        WRITE_FILE_ALL
    ),
    wrapped!(
        c"sun/nio/ch/UnixFileDispatcherImpl",
        c"write0",
        c"(Ljava/io/FileDescriptor;JI)I",
        write_file,
        WRITE_FILE
    ),
];
