//! What threads wait for, and who holds it. Fields are read; no Java code runs.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::ffi::CStr;
use std::ptr;

use flow_codec::ThreadId;
use flow_codec::format::values::waits::WaitKind;
use jni::sys::{jclass, jobject};
use once_cell::sync::OnceCell;

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

/// The methods in which a virtual thread parks, each as what identifies it, and the kind of the wait. The outermost of them on the
/// stack says what the thread parks for: `Thread.sleep` and sockets call `park`.
static PARKS: OnceCell<Vec<(usize, WaitKind)>> = OnceCell::new();
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
        let parks = PARKS.get_or_init(|| self.methods_that_park());
        let frames = self.jvmti.innermost_frames(self.thread, FRAMES_OF_PARK)?;
        let mut kinds = frames.iter().filter_map(|(method, _)| {
            let method = method.expose_provenance();
            parks.iter().find(|(park, _)| *park == method).map(|(_, kind)| *kind)
        });
        kinds.next_back()
    }

    fn methods_that_park(&self) -> Vec<(usize, WaitKind)> {
        const OF_THREAD: [(&str, WaitKind); 3] = [
            ("park", WaitKind::Park),
            ("parkNanos", WaitKind::Park),
            ("sleepNanos", WaitKind::Sleep),
        ];
        let mut found = Vec::new();
        let mut add = |class: &CStr, kind_of: &dyn Fn(&str) -> Option<WaitKind>| {
            let Some(class) = self.find_class(class) else { return };
            for method in self.jvmti.class_methods(class) {
                let name = self.jvmti.method_name(method);
                let kind = name.and_then(|(name, _)| kind_of(&name));
                found.extend(kind.map(|kind| (method.expose_provenance(), kind)));
            }
            self.forget(class);
        };
        add(c"java/lang/VirtualThread", &|name| {
            OF_THREAD.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
        });
        // Where a virtual thread waits for a socket.
        add(c"sun/nio/ch/Poller", &|name| name.starts_with("poll").then_some(WaitKind::Network));
        found
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
