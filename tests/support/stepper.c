/*
 * A second opinion on instructions: an agent that lets the JVM report each one that it interprets, written independently
 * of flow.
 *
 *   cc -shared -fPIC -O2 -I$JAVA_HOME/include -I$JAVA_HOME/include/linux -o libstepper.so stepper.c
 *   java -agentpath:./libstepper.so=FILE,harness/ ...
 *
 * For each instruction that the thread which called main executes in a method of a class whose internal name begins with
 * the prefix, it writes a line to FILE: class.Name#method(descriptor) TAB index TAB opcode. Names are as in the class file,
 * with dots in that of the class. The opcode of a wide instruction is that of the instruction that it widens.
 *
 * Ids of methods are cached for good, so no class with the prefix may be unloaded.
 */
#include <jvmti.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536
#define WIDE 0xC4

/* What is known of a method; KEY is NULL for one that is not written. */
struct meaning {
    struct meaning *next;
    jmethodID id;
    char *key;
    unsigned char *code;
};

static jvmtiEnv *jvmti;
static const char *prefix;
static FILE *out;
static pthread_t main_thread;
static int started;
static struct meaning *meanings[BUCKETS];

static void check(jvmtiError error, const char *what) {
    if (error != JVMTI_ERROR_NONE) {
        fprintf(stderr, "stepper: %s: JVMTI error %d\n", what, (int)error);
        abort();
    }
}

static struct meaning *meaning_of(jmethodID id) {
    struct meaning **bucket = &meanings[((uintptr_t)id >> 3) * 2654435761u % BUCKETS];
    for (struct meaning *meaning = *bucket; meaning != NULL; meaning = meaning->next) {
        if (meaning->id == id) return meaning;
    }
    struct meaning *meaning = calloc(1, sizeof *meaning);
    if (meaning == NULL) abort();
    meaning->id = id;
    meaning->next = *bucket;
    *bucket = meaning;
    jclass type;
    char *signature, *name, *descriptor;
    check((*jvmti)->GetMethodDeclaringClass(jvmti, id, &type), "GetMethodDeclaringClass");
    check((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL), "GetClassSignature");
    if (strncmp(signature + 1, prefix, strlen(prefix)) != 0) return meaning;
    check((*jvmti)->GetMethodName(jvmti, id, &name, &descriptor, NULL), "GetMethodName");
    jint length;
    check((*jvmti)->GetBytecodes(jvmti, id, &length, &meaning->code), "GetBytecodes");
    signature[strlen(signature) - 1] = 0;
    for (char *c = signature; *c != 0; c++) {
        if (*c == '/') *c = '.';
    }
    size_t bytes = strlen(signature) + strlen(name) + strlen(descriptor) + 2;
    meaning->key = malloc(bytes);
    if (meaning->key == NULL) abort();
    snprintf(meaning->key, bytes, "%s#%s%s", signature + 1, name, descriptor);
    return meaning;
}

static void JNICALL on_step(jvmtiEnv *env, JNIEnv *jni, jthread thread, jmethodID id, jlocation at) {
    (void)env, (void)jni, (void)thread;
    if (!started || !pthread_equal(pthread_self(), main_thread)) return;
    struct meaning *meaning = meaning_of(id);
    if (meaning->key == NULL) return;
    unsigned op = meaning->code[at];
    if (op == WIDE) op = meaning->code[at + 1];
    fprintf(out, "%s\t%d\t%u\n", meaning->key, (int)at, op);
}

static void JNICALL on_init(jvmtiEnv *env, JNIEnv *jni, jthread thread) {
    (void)env, (void)jni, (void)thread;
    main_thread = pthread_self();
    started = 1;
    check((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread), "SINGLE_STEP");
}

static void JNICALL on_death(jvmtiEnv *env, JNIEnv *jni) {
    (void)env, (void)jni;
    started = 0;
    if (fclose(out) != 0) abort();
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    char *path = strdup(options == NULL ? "" : options);
    char *comma = strrchr(path, ',');
    if (comma == NULL) {
        fprintf(stderr, "stepper: the options are FILE,PREFIX\n");
        return JNI_ERR;
    }
    *comma = 0;
    prefix = comma + 1;
    out = fopen(path, "wb");
    if (out == NULL) return JNI_ERR;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
    jvmtiCapabilities capabilities;
    memset(&capabilities, 0, sizeof capabilities);
    capabilities.can_generate_single_step_events = 1;
    capabilities.can_get_bytecodes = 1;
    check((*jvmti)->AddCapabilities(jvmti, &capabilities), "AddCapabilities");
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.VMInit = on_init;
    callbacks.VMDeath = on_death;
    callbacks.SingleStep = on_step;
    check((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks), "SetEventCallbacks");
    check((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL), "VM_INIT");
    check((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL), "VM_DEATH");
    return JNI_OK;
}
