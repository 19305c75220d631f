//! What threads wait for, and who holds it. Fields are read; no Java code runs.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ptr;

use flow_codec::ThreadId;
use flow_codec::format::values::waits::WaitKind;
use jni::sys::{jclass, jmethodID, jobject};
use once_cell::sync::OnceCell;
use parking_lot::RwLock;

use super::{KnownField, field};
use crate::jvm::vm::Vm;
use crate::jvm::vm::handle::Versions as _;

static BLOCKER: KnownField = field(c"java/lang/Thread", c"parkBlocker", c"Ljava/lang/Object;");
const SYNCHRONIZER: &CStr = c"java/util/concurrent/locks/AbstractOwnableSynchronizer";
static OWNER: KnownField = field(SYNCHRONIZER, c"exclusiveOwnerThread", c"Ljava/lang/Thread;");
static FILE: KnownField = field(c"java/io/FileDescriptor", c"fd", c"I");
static FILE_OF_STREAM: KnownField =
    field(c"java/io/FileInputStream", c"fd", c"Ljava/io/FileDescriptor;");
static FILE_OF_SOCKET: KnownField =
    field(c"java/net/SocketImpl", c"fd", c"Ljava/io/FileDescriptor;");

/// The methods in which a virtual thread parks, and what for. The outermost of them on the stack says what the thread waits for:
/// `Thread.sleep` and sockets call `park`.
const PARKING: [(&str, &str, WaitKind); 5] = [
    ("java.lang.VirtualThread", "park", WaitKind::Park),
    ("java.lang.VirtualThread", "parkNanos", WaitKind::Park),
    ("java.lang.VirtualThread", "sleepNanos", WaitKind::Sleep),
    ("sun.nio.ch.Poller", "poll", WaitKind::Network),
    ("sun.nio.ch.Poller", "pollSelector", WaitKind::Network),
];
/// What is known of each method that was on the stack of a virtual thread near such a park. Methods keep their handles.
static PARKS: RwLock<BTreeMap<usize, Option<WaitKind>>> = RwLock::new(BTreeMap::new());
/// How many frames of the JDK there are at most inside the one that says what a virtual thread parks for.
const FRAMES_OF_PARK: usize = 12;

/// The class of locks that have an owner; it is never unloaded.
static SYNCHRONIZERS: OnceCell<Option<usize>> = OnceCell::new();

impl Vm<'_> {
    /// What `System.identityHashCode` returns for an object.
    pub(in crate::jvm) fn hash_of(&self, object: jobject) -> Option<u32> {
        self.jvmti.hash_code(object).map(i32::cast_unsigned)
    }

    /// The thread that has entered a monitor. The JVM stops all threads for that.
    pub(in crate::jvm) fn holder_of_monitor(&self, object: jobject) -> Option<ThreadId> {
        let holder = self.jvmti.holder_of_monitor(object)?;
        let id = self.thread_id(holder);
        self.forget(holder);
        id
    }

    /// A reference to the blocker of the current thread, which may be null.
    pub(in crate::jvm) fn blocker_of_current(&self) -> jobject {
        self.object_field(self.thread, &BLOCKER).unwrap_or(ptr::null_mut())
    }

    /// The thread that holds a lock of `java.util.concurrent`, by the object that threads park for.
    pub(in crate::jvm) fn owner_of_synchronizer(&self, blocker: jobject) -> Option<ThreadId> {
        let class = SYNCHRONIZERS.get_or_init(|| {
            let class = self.find_class(SYNCHRONIZER)?;
            let kept = self.keep(class);
            self.forget(class);
            kept.map(|class| class.expose_provenance())
        });
        let class = ptr::with_exposed_provenance_mut((*class)?);
        let function = self.jni().v1_1().IsInstanceOf;
        // SAFETY: an object and a class.
        if !unsafe { function(self.jni, blocker, class) } {
            return None;
        }
        let owner = self.object_field(blocker, &OWNER)?;
        let id = self.thread_id(owner);
        self.forget(owner);
        id
    }

    /// Why the current thread, a virtual one, leaves its carrier or has come back; `None` if it does not wait for anything: it ends,
    /// yields, or waits for a monitor.
    pub(in crate::jvm) fn park_of_virtual_thread(&self) -> Option<WaitKind> {
        let frames = self.jvmti.innermost_frames(self.thread, FRAMES_OF_PARK)?;
        frames.iter().filter_map(|(method, _)| self.kind_of_park(*method)).next_back()
    }

    /// What a virtual thread waits for that parks in this method, or in what it calls.
    fn kind_of_park(&self, method: jmethodID) -> Option<WaitKind> {
        let id = method.expose_provenance();
        let known = PARKS.read().get(&id).copied();
        known.unwrap_or_else(|| {
            // By its name: to look up a class would initialise it, and that of `Poller` starts threads.
            let kind = self.method_name(method).and_then(|(class, name)| {
                let in_class = PARKING.iter().filter(|park| *park.0 == *class.binary);
                in_class.filter(|park| park.1 == name).map(|park| park.2).next()
            });
            PARKS.write().insert(id, kind);
            kind
        })
    }

    /// The number of an open file of the system.
    pub(in crate::jvm) fn number_of_file(&self, file: jobject) -> Option<i32> {
        let number = (!file.is_null()).then(|| self.int_field(file, &FILE))??;
        i32::try_from(number).ok().filter(|number| *number >= 0)
    }

    /// The number of the open file that a stream reads.
    pub(in crate::jvm) fn number_of_stream(&self, stream: jobject) -> Option<i32> {
        let file = self.object_field(stream, &FILE_OF_STREAM)?;
        let number = self.number_of_file(file);
        self.forget(file);
        number
    }

    /// A reference to the open file of a socket.
    pub(in crate::jvm) fn file_of_socket(&self, socket: jobject) -> Option<jobject> {
        self.object_field(socket, &FILE_OF_SOCKET)
    }

    /// Returns whether an exception is pending.
    pub(in crate::jvm) fn has_thrown(&self) -> bool {
        let function = self.jni().v1_2().ExceptionCheck;
        // SAFETY: no arguments but the environment.
        unsafe { function(self.jni) }
    }

    /// Returns a class of the JDK, by a local reference, and what identifies a native method of it, static or not.
    pub(in crate::jvm) fn find_native(
        &self,
        class: &CStr,
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<(jclass, usize)> {
        let class = self.find_class(class)?;
        let jni = self.jni().v1_1();
        let find = [jni.GetMethodID, jni.GetStaticMethodID].into_iter();
        let method = { find }.find_map(|find| {
            // SAFETY: a class, and NUL-terminated strings.
            let method = unsafe { find(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
            self.unless_thrown(method)
        });
        match method {
            Some(method) => Some((class, method.expose_provenance())),
            None => {
                self.forget(class);
                None
            }
        }
    }
}
