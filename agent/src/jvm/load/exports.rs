//! Keeps symbols of `jvmti-rs` out of our export table.
//!
//! Its wrapper, which we do not use, has 31 functions with C names; rustc exports those of every linked
//! crate. A reference with hidden visibility makes the linker hide the definition too, so that the library
//! exports the three `Agent_*` functions, `flow_agent_recording`, and nothing else (`tests/e2e/tidy/mod.rs`).

#![expect(unsafe_code, reason = "assembler directives, without any code")]

#[cfg(target_os = "linux")]
std::arch::global_asm!(
    ".hidden jvmti_event_breakpoint_handler",
    ".hidden jvmti_event_class_file_load_hook_handler",
    ".hidden jvmti_event_class_load_handler",
    ".hidden jvmti_event_class_prepare_handler",
    ".hidden jvmti_event_compiled_method_load_handler",
    ".hidden jvmti_event_compiled_method_unload_handler",
    ".hidden jvmti_event_data_dump_request_handler",
    ".hidden jvmti_event_dynamic_code_generated_handler",
    ".hidden jvmti_event_exception_handler",
    ".hidden jvmti_event_exception_catch_handler",
    ".hidden jvmti_event_field_access_handler",
    ".hidden jvmti_event_field_modification_handler",
    ".hidden jvmti_event_frame_pop_handler",
    ".hidden jvmti_event_garbage_collection_finish_handler",
    ".hidden jvmti_event_garbage_collection_start_handler",
    ".hidden jvmti_event_method_entry_handler",
    ".hidden jvmti_event_method_exit_handler",
    ".hidden jvmti_event_monitor_contended_enter_handler",
    ".hidden jvmti_event_monitor_contended_entered_handler",
    ".hidden jvmti_event_monitor_wait_handler",
    ".hidden jvmti_event_monitor_waited_handler",
    ".hidden jvmti_event_native_method_bind_handler",
    ".hidden jvmti_event_object_free_handler",
    ".hidden jvmti_event_resource_exhausted_handler",
    ".hidden jvmti_event_single_step_handler",
    ".hidden jvmti_event_thread_end_handler",
    ".hidden jvmti_event_thread_start_handler",
    ".hidden jvmti_event_vm_death_handler",
    ".hidden jvmti_event_vm_init_handler",
    ".hidden jvmti_event_vm_object_alloc_handler",
    ".hidden jvmti_event_vm_start_handler",
);
