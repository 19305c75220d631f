/*
 * A second opinion: an agent that only counts method entries, written independently of flow. Exits are not counted: their
 * events would double the time, and an exit belongs to an entry.
 *
 *   cc -shared -fPIC -O2 -I$JAVA_HOME/include -I$JAVA_HOME/include/linux -o libcounter.so counter.c
 *   java -agentpath:./libcounter.so=FILE ...
 *
 * It counts every method with bytecode of every class that neither the boot nor the platform loader defines, from
 * VMStart to VMDeath, in all threads. At VMDeath it writes one line per method to FILE, sorted by bytes:
 *
 *   class.Name#method(descriptor) TAB enters
 *
 * Class names are binary names, those of hidden classes as Class.getName() gives them (pkg.Name/0x...). Methods of the
 * same class name, name and descriptor share a line. Text is UTF-8; control characters and lone surrogates are written
 * as \u000A, \uD800.
 *
 * One raw monitor guards all state. A jmethodID means something only while its class is loaded: the JVM may give the
 * same value to a method of another class later (JDK 17 and 25 were not seen to, but may). So when a class is
 * prepared, before any of its methods runs, everything that is cached under its ids is dropped. Counts are in rows,
 * which are never dropped.
 */
#include <jvmti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536

/* What is counted: one line of the result. */
struct row {
    struct row *next;
    char *key;
    unsigned long long enters;
};

/* What an id means at the moment; row is NULL for a method that is not counted. */
struct meaning {
    struct meaning *next;
    jmethodID id;
    struct row *row;
};

static jvmtiEnv *jvmti;
static jrawMonitorID lock;
static char *out_path;
static int stopped;
static size_t row_count;
static struct row *rows[BUCKETS];
static struct meaning *meanings[BUCKETS];

static void die(const char *what) {
    fprintf(stderr, "counter: %s\n", what);
    abort();
}

static void check(jvmtiError error, const char *what) {
    if (error != JVMTI_ERROR_NONE) {
        fprintf(stderr, "counter: %s: JVMTI error %d\n", what, (int)error);
        abort();
    }
}

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) die("out of memory");
    return memory;
}

/* Takes one UTF-16 unit from modified UTF-8. */
static unsigned unit(const unsigned char **text) {
    const unsigned char *t = *text;
    if (t[0] < 0x80) {
        *text += 1;
        return t[0];
    }
    if (t[0] < 0xE0) {
        *text += 2;
        return (t[0] & 0x1Fu) << 6 | (t[1] & 0x3Fu);
    }
    *text += 3;
    return (t[0] & 0x0Fu) << 12 | (t[1] & 0x3Fu) << 6 | (t[2] & 0x3Fu);
}

/* Appends modified UTF-8 as UTF-8; needs room for six bytes per byte. Returns the new end. */
static char *append(char *to, const char *modified) {
    const unsigned char *from = (const unsigned char *)modified;
    while (*from != 0) {
        unsigned c = unit(&from);
        if (c >= 0xD800 && c < 0xDC00 && from[0] == 0xED && from[1] >= 0xB0) {
            c = 0x10000 + ((c - 0xD800) << 10) + (unit(&from) - 0xDC00);
        }
        if (c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0xD800 && c < 0xE000)) {
            to += sprintf(to, "\\u%04X", c);
        } else if (c < 0x80) {
            *to++ = (char)c;
        } else if (c < 0x800) {
            *to++ = (char)(0xC0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            *to++ = (char)(0xE0 | c >> 12);
            *to++ = (char)(0x80 | (c >> 6 & 0x3F));
            *to++ = (char)(0x80 | (c & 0x3F));
        } else {
            *to++ = (char)(0xF0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3F));
            *to++ = (char)(0x80 | (c >> 6 & 0x3F));
            *to++ = (char)(0x80 | (c & 0x3F));
        }
    }
    *to = 0;
    return to;
}

/*
 * Turns Lpkg/Name; into pkg.Name, and the signature of a hidden class, Lpkg/Name.0x123;, into pkg.Name/0x123. Before
 * JDK 15 such a class has the signature Lpkg/Name/123;, the last part of which is a decimal number.
 */
static void to_binary_name(char *signature) {
    size_t length = strlen(signature);
    memmove(signature, signature + 1, length - 2);
    signature[length - 2] = 0;
    char *last = strrchr(signature, '/');
    int old_hidden = last != NULL && last[1] != 0 && strspn(last + 1, "0123456789") == strlen(last + 1);
    for (char *c = signature; *c != 0; c++) {
        if (*c == '/') *c = '.';
        else if (*c == '.') *c = '/';
    }
    if (old_hidden) *last = '/';
}

static struct row *row_of(const char *class_name, const char *name, const char *descriptor) {
    char *key = allocate(6 * (strlen(class_name) + strlen(name) + strlen(descriptor)) + 2);
    char *end = append(key, class_name);
    *end++ = '#';
    append(append(end, name), descriptor);

    uint32_t hash = 2166136261u;
    for (const char *c = key; *c != 0; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    struct row **bucket = &rows[hash % BUCKETS];
    for (struct row *row = *bucket; row != NULL; row = row->next) {
        if (strcmp(row->key, key) == 0) {
            free(key);
            return row;
        }
    }
    struct row *row = allocate(sizeof *row);
    row->key = key;
    row->next = *bucket;
    *bucket = row;
    row_count++;
    return row;
}

/* Whether the class is defined by neither the boot nor the platform loader. */
static int is_counted_class(JNIEnv *jni, jclass type) {
    jobject loader;
    check((*jvmti)->GetClassLoader(jvmti, type, &loader), "GetClassLoader");
    if (loader == NULL) return 0;
    char *signature;
    jclass loader_type = (*jni)->GetObjectClass(jni, loader);
    check((*jvmti)->GetClassSignature(jvmti, loader_type, &signature, NULL), "GetClassSignature");
    int platform = strcmp(signature, "Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;") == 0 ||
                   strcmp(signature, "Lsun/misc/Launcher$ExtClassLoader;") == 0;
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return !platform;
}

static struct row *resolve(JNIEnv *jni, jmethodID id) {
    jboolean native;
    check((*jvmti)->IsMethodNative(jvmti, id, &native), "IsMethodNative");
    if (native) return NULL;
    jclass type;
    check((*jvmti)->GetMethodDeclaringClass(jvmti, id, &type), "GetMethodDeclaringClass");
    if (!is_counted_class(jni, type)) return NULL;
    char *signature, *name, *descriptor;
    check((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL), "GetClassSignature");
    check((*jvmti)->GetMethodName(jvmti, id, &name, &descriptor, NULL), "GetMethodName");
    to_binary_name(signature);
    struct row *row = row_of(signature, name, descriptor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
    return row;
}

static struct meaning **bucket_of(jmethodID id) {
    return &meanings[((uintptr_t)id >> 3) * 2654435761u % BUCKETS];
}

static struct row *row_of_id(JNIEnv *jni, jmethodID id) {
    struct meaning **bucket = bucket_of(id);
    for (struct meaning *meaning = *bucket; meaning != NULL; meaning = meaning->next) {
        if (meaning->id == id) return meaning->row;
    }
    struct meaning *meaning = allocate(sizeof *meaning);
    meaning->id = id;
    meaning->row = resolve(jni, id);
    meaning->next = *bucket;
    *bucket = meaning;
    return meaning->row;
}

static void forget(jmethodID id) {
    for (struct meaning **at = bucket_of(id); *at != NULL; at = &(*at)->next) {
        if ((*at)->id == id) {
            struct meaning *dropped = *at;
            *at = dropped->next;
            free(dropped);
            return;
        }
    }
}

static void count(JNIEnv *jni, jmethodID id) {
    check((*jvmti)->RawMonitorEnter(jvmti, lock), "RawMonitorEnter");
    if (!stopped) {
        struct row *row = row_of_id(jni, id);
        if (row != NULL) row->enters++;
    }
    check((*jvmti)->RawMonitorExit(jvmti, lock), "RawMonitorExit");
}

static void JNICALL on_entry(jvmtiEnv *env, JNIEnv *jni, jthread thread, jmethodID id) {
    (void)env, (void)thread;
    count(jni, id);
}

static void JNICALL on_class_prepare(jvmtiEnv *env, JNIEnv *jni, jthread thread, jclass type) {
    (void)env, (void)jni, (void)thread;
    jint length;
    jmethodID *ids;
    check((*jvmti)->GetClassMethods(jvmti, type, &length, &ids), "GetClassMethods");
    check((*jvmti)->RawMonitorEnter(jvmti, lock), "RawMonitorEnter");
    for (jint i = 0; i < length; i++) forget(ids[i]);
    check((*jvmti)->RawMonitorExit(jvmti, lock), "RawMonitorExit");
    (*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
}

static int by_key(const void *left, const void *right) {
    return strcmp((*(struct row *const *)left)->key, (*(struct row *const *)right)->key);
}

static void write_rows(void) {
    struct row **sorted = allocate((row_count + 1) * sizeof *sorted);
    size_t filled = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct row *row = rows[i]; row != NULL; row = row->next) sorted[filled++] = row;
    }
    qsort(sorted, filled, sizeof *sorted, by_key);
    FILE *out = fopen(out_path, "wb");
    if (out == NULL) die("cannot write the file named in the options");
    for (size_t i = 0; i < filled; i++) {
        fprintf(out, "%s\t%llu\n", sorted[i]->key, sorted[i]->enters);
    }
    if (fclose(out) != 0) die("cannot write the file named in the options");
    free(sorted);
}

/* Other threads may still run: from here on their events change nothing. */
static void JNICALL on_vm_death(jvmtiEnv *env, JNIEnv *jni) {
    (void)env, (void)jni;
    check((*jvmti)->RawMonitorEnter(jvmti, lock), "RawMonitorEnter");
    stopped = 1;
    write_rows();
    check((*jvmti)->RawMonitorExit(jvmti, lock), "RawMonitorExit");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if (options == NULL || options[0] == 0) die("the options are the path of the file to write");
    out_path = allocate(strlen(options) + 1);
    strcpy(out_path, options);
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) die("no JVMTI");
    check((*jvmti)->CreateRawMonitor(jvmti, "counter", &lock), "CreateRawMonitor");

    jvmtiCapabilities capabilities;
    memset(&capabilities, 0, sizeof capabilities);
    capabilities.can_generate_method_entry_events = 1;
    check((*jvmti)->AddCapabilities(jvmti, &capabilities), "AddCapabilities");

    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.VMDeath = on_vm_death;
    callbacks.ClassPrepare = on_class_prepare;
    callbacks.MethodEntry = on_entry;
    check((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks), "SetEventCallbacks");
    /* Here, because at VMStart events cannot be switched on. Before VMStart the JVM sends none of these. */
    static const jvmtiEvent events[] = {
        JVMTI_EVENT_METHOD_ENTRY, JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_VM_DEATH};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        check((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL), "SetEventNotificationMode");
    }
    return JNI_OK;
}
