//! Methods whose calls a snapshot is taken on: the JVM reports them by breakpoints.

use jvmti_rs::sys;

use super::Vm;
use super::vm::ClassName;
use crate::lifecycle::Agent;

/// Watches the methods of a class that the options name.
pub(super) fn watch(agent: &Agent, vm: &Vm<'_>, class: sys::jclass, name: &ClassName) {
    let globs = &agent.snapshots().on().methods;
    if globs.iter().any(|glob| glob.matches_some_of(&name.binary)) {
        vm.break_in(class, |method| globs.iter().any(|glob| glob.matches(&name.binary, method)));
    }
}

/// Watches those of all classes that are loaded.
pub(super) fn watch_loaded(agent: &Agent, vm: &Vm<'_>) {
    if !agent.snapshots().on().methods.is_empty() {
        vm.each_loaded_class(|class, name| watch(agent, vm, class, name));
    }
}

/// A method that is watched was called: `Cart.checkout`, or `OrderException` for its constructor.
pub(super) fn on_call(agent: &Agent, vm: &Vm<'_>, method: sys::jmethodID) {
    let Some((class, method)) = vm.method_name(method) else { return };
    let class = class.binary.rsplit('.').next().unwrap_or_default();
    let name = match method.as_str() {
        "<init>" => class.to_owned(),
        "dispatchUncaughtException" => "uncaught".to_owned(),
        _ => format!("{class}.{method}"),
    };
    agent.snapshots().ask(&name);
}
