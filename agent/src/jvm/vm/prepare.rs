//! What is found once, for all later callbacks.

use super::Vm;
use super::java_threads::{THREAD_ID, THREAD_NAME};
use super::loaders::LOOKUP;

impl Vm<'_> {
    /// Finds what later callbacks need. Called in VMStart, where JNI may be used, or when attaching.
    pub(in crate::jvm) fn prepare(&self) {
        let found = THREAD_ID.get_or_try_init(|| {
            let class = self.find_class(c"java/lang/Thread").ok_or("class")?;
            let field = self.field(class, c"tid", c"J").ok_or("field tid")?;
            // Without it, the JVM is asked for each name.
            if let Some(name) = self.field(class, c"name", c"Ljava/lang/String;") {
                let _ = THREAD_NAME.set(name);
            }
            self.forget(class);
            Ok::<_, &str>(field)
        });
        if let Err(what) = found {
            log::error!("this JVM has no {what} of java.lang.Thread; nothing can be recorded");
        }
        // Without it, loaders are not asked beforehand.
        let _ = LOOKUP.get_or_try_init(|| self.class_lookup().ok_or(()));
    }
}
