//! The classes of the JDK whose content is read, and where it is. What a JDK has elsewhere is not read: the object then has
//! class and identity, as before.

use std::ffi::CStr;

use once_cell::sync::OnceCell;

use super::super::java_threads::Field;

/// A field of a class that is never unloaded.
#[derive(Debug)]
pub(in crate::jvm::vm) struct KnownField {
    pub(in crate::jvm::vm) class: &'static CStr,
    pub(in crate::jvm::vm) name: &'static CStr,
    pub(in crate::jvm::vm) descriptor: &'static CStr,
    /// `None`: the class has no such field.
    pub(in crate::jvm::vm) id: OnceCell<Option<Field>>,
}

pub(in crate::jvm::vm) const fn field(
    class: &'static CStr,
    name: &'static CStr,
    descriptor: &'static CStr,
) -> KnownField {
    KnownField { class, name, descriptor, id: OnceCell::new() }
}

/// How an object of the JDK is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    Decimal,
    Integer,
    Uuid,
    LocalDate,
    LocalTime,
    LocalDateTime,
    Instant,
    Duration,
    OffsetDateTime,
    ZonedDateTime,
    ZoneOffset,
    ZoneRegion,
    Date,
    Builder,
    Class,
    Uri,
    Url,
    AtomicInteger,
    AtomicLong,
    AtomicBoolean,
    /// One element, or none if that is null.
    Optional,
    AtomicReference,
    OptionalInt,
    OptionalLong,
    OptionalDouble,
    /// Elements in an array, from the first on, and how many these are.
    ArrayList,
    Vector,
    /// All elements of an array.
    ArraysList,
    ListN,
    CopyOnWriteList,
    /// Elements of an array that are not null.
    SetN,
    MapN,
    /// Up to two elements.
    List12,
    Set12,
    Map1,
    SingletonList,
    SingletonSet,
    SingletonMap,
    EmptyCollection,
    EmptyMap,
    LinkedList,
    ArrayDeque,
    HashMap,
    LinkedHashMap,
    ConcurrentHashMap,
    TreeMap,
    /// The keys of a map.
    HashSet,
    TreeSet,
    /// What another object has.
    WrappedCollection(&'static KnownField),
    WrappedMap(&'static KnownField),
}

pub(super) static DECIMAL_COMPACT: KnownField = field(c"java/math/BigDecimal", c"intCompact", c"J");
pub(super) static DECIMAL_VALUE: KnownField =
    field(c"java/math/BigDecimal", c"intVal", c"Ljava/math/BigInteger;");
pub(super) static DECIMAL_SCALE: KnownField = field(c"java/math/BigDecimal", c"scale", c"I");
pub(super) static INTEGER_SIGN: KnownField = field(c"java/math/BigInteger", c"signum", c"I");
pub(super) static INTEGER_DIGITS: KnownField = field(c"java/math/BigInteger", c"mag", c"[I");
pub(super) static UUID_MOST: KnownField = field(c"java/util/UUID", c"mostSigBits", c"J");
pub(super) static UUID_LEAST: KnownField = field(c"java/util/UUID", c"leastSigBits", c"J");
pub(super) static DATE_YEAR: KnownField = field(c"java/time/LocalDate", c"year", c"I");
pub(super) static DATE_MONTH: KnownField = field(c"java/time/LocalDate", c"month", c"S");
pub(super) static DATE_DAY: KnownField = field(c"java/time/LocalDate", c"day", c"S");
pub(super) static DATE_MONTH_BYTE: KnownField = field(c"java/time/LocalDate", c"month", c"B");
pub(super) static DATE_DAY_BYTE: KnownField = field(c"java/time/LocalDate", c"day", c"B");
pub(super) static TIME_HOUR: KnownField = field(c"java/time/LocalTime", c"hour", c"B");
pub(super) static TIME_MINUTE: KnownField = field(c"java/time/LocalTime", c"minute", c"B");
pub(super) static TIME_SECOND: KnownField = field(c"java/time/LocalTime", c"second", c"B");
pub(super) static TIME_NANO: KnownField = field(c"java/time/LocalTime", c"nano", c"I");
pub(super) static DATE_TIME_DATE: KnownField =
    field(c"java/time/LocalDateTime", c"date", c"Ljava/time/LocalDate;");
pub(super) static DATE_TIME_TIME: KnownField =
    field(c"java/time/LocalDateTime", c"time", c"Ljava/time/LocalTime;");
pub(super) static INSTANT_SECONDS: KnownField = field(c"java/time/Instant", c"seconds", c"J");
pub(super) static INSTANT_NANOS: KnownField = field(c"java/time/Instant", c"nanos", c"I");
pub(super) static DURATION_SECONDS: KnownField = field(c"java/time/Duration", c"seconds", c"J");
pub(super) static DURATION_NANOS: KnownField = field(c"java/time/Duration", c"nanos", c"I");
pub(super) static OFFSET_DATE_TIME: KnownField =
    field(c"java/time/OffsetDateTime", c"dateTime", c"Ljava/time/LocalDateTime;");
pub(super) static OFFSET_OFFSET: KnownField =
    field(c"java/time/OffsetDateTime", c"offset", c"Ljava/time/ZoneOffset;");
pub(super) static ZONED_DATE_TIME: KnownField =
    field(c"java/time/ZonedDateTime", c"dateTime", c"Ljava/time/LocalDateTime;");
pub(super) static ZONED_OFFSET: KnownField =
    field(c"java/time/ZonedDateTime", c"offset", c"Ljava/time/ZoneOffset;");
pub(super) static ZONED_ZONE: KnownField =
    field(c"java/time/ZonedDateTime", c"zone", c"Ljava/time/ZoneId;");
pub(super) static OFFSET_ID: KnownField =
    field(c"java/time/ZoneOffset", c"id", c"Ljava/lang/String;");
pub(super) static REGION_ID: KnownField =
    field(c"java/time/ZoneRegion", c"id", c"Ljava/lang/String;");
pub(super) static OLD_DATE: KnownField = field(c"java/util/Date", c"fastTime", c"J");
pub(super) static URI_TEXT: KnownField = field(c"java/net/URI", c"string", c"Ljava/lang/String;");
pub(super) static URL_PROTOCOL: KnownField =
    field(c"java/net/URL", c"protocol", c"Ljava/lang/String;");
pub(super) static URL_AUTHORITY: KnownField =
    field(c"java/net/URL", c"authority", c"Ljava/lang/String;");
pub(super) static URL_FILE: KnownField = field(c"java/net/URL", c"file", c"Ljava/lang/String;");
pub(super) static BUILDER_BYTES: KnownField =
    field(c"java/lang/AbstractStringBuilder", c"value", c"[B");
pub(super) static BUILDER_CODER: KnownField =
    field(c"java/lang/AbstractStringBuilder", c"coder", c"B");
pub(super) static BUILDER_COUNT: KnownField =
    field(c"java/lang/AbstractStringBuilder", c"count", c"I");
pub(super) static ATOMIC_INTEGER: KnownField =
    field(c"java/util/concurrent/atomic/AtomicInteger", c"value", c"I");
pub(super) static ATOMIC_LONG: KnownField =
    field(c"java/util/concurrent/atomic/AtomicLong", c"value", c"J");
pub(super) static ATOMIC_BOOLEAN: KnownField =
    field(c"java/util/concurrent/atomic/AtomicBoolean", c"value", c"I");
pub(super) static ATOMIC_REFERENCE: KnownField =
    field(c"java/util/concurrent/atomic/AtomicReference", c"value", c"Ljava/lang/Object;");
pub(super) static OPTIONAL: KnownField =
    field(c"java/util/Optional", c"value", c"Ljava/lang/Object;");
pub(super) static OPTIONAL_HAS_INT: KnownField =
    field(c"java/util/OptionalInt", c"isPresent", c"Z");
pub(super) static OPTIONAL_INT: KnownField = field(c"java/util/OptionalInt", c"value", c"I");
pub(super) static OPTIONAL_HAS_LONG: KnownField =
    field(c"java/util/OptionalLong", c"isPresent", c"Z");
pub(super) static OPTIONAL_LONG: KnownField = field(c"java/util/OptionalLong", c"value", c"J");
pub(super) static OPTIONAL_HAS_DOUBLE: KnownField =
    field(c"java/util/OptionalDouble", c"isPresent", c"Z");
pub(super) static OPTIONAL_DOUBLE: KnownField = field(c"java/util/OptionalDouble", c"value", c"D");
pub(super) static ARRAY_LIST: KnownField =
    field(c"java/util/ArrayList", c"elementData", c"[Ljava/lang/Object;");
pub(super) static ARRAY_LIST_SIZE: KnownField = field(c"java/util/ArrayList", c"size", c"I");
pub(super) static VECTOR: KnownField =
    field(c"java/util/Vector", c"elementData", c"[Ljava/lang/Object;");
pub(super) static VECTOR_SIZE: KnownField = field(c"java/util/Vector", c"elementCount", c"I");
pub(super) static ARRAYS_LIST: KnownField =
    field(c"java/util/Arrays$ArrayList", c"a", c"[Ljava/lang/Object;");
pub(super) static LIST_N: KnownField =
    field(c"java/util/ImmutableCollections$ListN", c"elements", c"[Ljava/lang/Object;");
pub(super) static COPY_ON_WRITE: KnownField =
    field(c"java/util/concurrent/CopyOnWriteArrayList", c"array", c"[Ljava/lang/Object;");
pub(super) static SET_N: KnownField =
    field(c"java/util/ImmutableCollections$SetN", c"elements", c"[Ljava/lang/Object;");
pub(super) static SET_N_SIZE: KnownField =
    field(c"java/util/ImmutableCollections$SetN", c"size", c"I");
pub(super) static MAP_N: KnownField =
    field(c"java/util/ImmutableCollections$MapN", c"table", c"[Ljava/lang/Object;");
pub(super) static MAP_N_SIZE: KnownField =
    field(c"java/util/ImmutableCollections$MapN", c"size", c"I");
pub(super) static LIST_0: KnownField =
    field(c"java/util/ImmutableCollections$List12", c"e0", c"Ljava/lang/Object;");
pub(super) static LIST_1: KnownField =
    field(c"java/util/ImmutableCollections$List12", c"e1", c"Ljava/lang/Object;");
pub(super) static SET_0: KnownField =
    field(c"java/util/ImmutableCollections$Set12", c"e0", c"Ljava/lang/Object;");
pub(super) static SET_1: KnownField =
    field(c"java/util/ImmutableCollections$Set12", c"e1", c"Ljava/lang/Object;");
pub(super) static MAP_KEY: KnownField =
    field(c"java/util/ImmutableCollections$Map1", c"k0", c"Ljava/lang/Object;");
pub(super) static MAP_VALUE: KnownField =
    field(c"java/util/ImmutableCollections$Map1", c"v0", c"Ljava/lang/Object;");
pub(super) static SINGLETON_LIST: KnownField =
    field(c"java/util/Collections$SingletonList", c"element", c"Ljava/lang/Object;");
pub(super) static SINGLETON_SET: KnownField =
    field(c"java/util/Collections$SingletonSet", c"element", c"Ljava/lang/Object;");
pub(super) static SINGLETON_KEY: KnownField =
    field(c"java/util/Collections$SingletonMap", c"k", c"Ljava/lang/Object;");
pub(super) static SINGLETON_VALUE: KnownField =
    field(c"java/util/Collections$SingletonMap", c"v", c"Ljava/lang/Object;");
pub(super) static LINKED_LIST: KnownField =
    field(c"java/util/LinkedList", c"first", c"Ljava/util/LinkedList$Node;");
pub(super) static LINKED_LIST_SIZE: KnownField = field(c"java/util/LinkedList", c"size", c"I");
pub(super) static LINKED_ITEM: KnownField =
    field(c"java/util/LinkedList$Node", c"item", c"Ljava/lang/Object;");
pub(super) static LINKED_NEXT: KnownField =
    field(c"java/util/LinkedList$Node", c"next", c"Ljava/util/LinkedList$Node;");
pub(super) static DEQUE: KnownField =
    field(c"java/util/ArrayDeque", c"elements", c"[Ljava/lang/Object;");
pub(super) static DEQUE_HEAD: KnownField = field(c"java/util/ArrayDeque", c"head", c"I");
pub(super) static DEQUE_TAIL: KnownField = field(c"java/util/ArrayDeque", c"tail", c"I");
pub(super) static HASH_MAP: KnownField =
    field(c"java/util/HashMap", c"table", c"[Ljava/util/HashMap$Node;");
pub(super) static HASH_MAP_SIZE: KnownField = field(c"java/util/HashMap", c"size", c"I");
pub(super) static HASH_KEY: KnownField =
    field(c"java/util/HashMap$Node", c"key", c"Ljava/lang/Object;");
pub(super) static HASH_VALUE: KnownField =
    field(c"java/util/HashMap$Node", c"value", c"Ljava/lang/Object;");
pub(super) static HASH_NEXT: KnownField =
    field(c"java/util/HashMap$Node", c"next", c"Ljava/util/HashMap$Node;");
pub(super) static LINKED_MAP: KnownField =
    field(c"java/util/LinkedHashMap", c"head", c"Ljava/util/LinkedHashMap$Entry;");
pub(super) static LINKED_AFTER: KnownField =
    field(c"java/util/LinkedHashMap$Entry", c"after", c"Ljava/util/LinkedHashMap$Entry;");
pub(super) static CONCURRENT: KnownField = field(
    c"java/util/concurrent/ConcurrentHashMap",
    c"table",
    c"[Ljava/util/concurrent/ConcurrentHashMap$Node;",
);
pub(super) static CONCURRENT_COUNT: KnownField =
    field(c"java/util/concurrent/ConcurrentHashMap", c"baseCount", c"J");
pub(super) static CONCURRENT_HASH: KnownField =
    field(c"java/util/concurrent/ConcurrentHashMap$Node", c"hash", c"I");
pub(super) static CONCURRENT_KEY: KnownField =
    field(c"java/util/concurrent/ConcurrentHashMap$Node", c"key", c"Ljava/lang/Object;");
pub(super) static CONCURRENT_VALUE: KnownField =
    field(c"java/util/concurrent/ConcurrentHashMap$Node", c"val", c"Ljava/lang/Object;");
pub(super) static CONCURRENT_NEXT: KnownField = field(
    c"java/util/concurrent/ConcurrentHashMap$Node",
    c"next",
    c"Ljava/util/concurrent/ConcurrentHashMap$Node;",
);
pub(super) static TREE_MAP: KnownField =
    field(c"java/util/TreeMap", c"root", c"Ljava/util/TreeMap$Entry;");
pub(super) static TREE_MAP_SIZE: KnownField = field(c"java/util/TreeMap", c"size", c"I");
pub(super) static TREE_KEY: KnownField =
    field(c"java/util/TreeMap$Entry", c"key", c"Ljava/lang/Object;");
pub(super) static TREE_VALUE: KnownField =
    field(c"java/util/TreeMap$Entry", c"value", c"Ljava/lang/Object;");
pub(super) static TREE_LEFT: KnownField =
    field(c"java/util/TreeMap$Entry", c"left", c"Ljava/util/TreeMap$Entry;");
pub(super) static TREE_RIGHT: KnownField =
    field(c"java/util/TreeMap$Entry", c"right", c"Ljava/util/TreeMap$Entry;");
pub(super) static HASH_SET: KnownField =
    field(c"java/util/HashSet", c"map", c"Ljava/util/HashMap;");
pub(super) static TREE_SET: KnownField =
    field(c"java/util/TreeSet", c"m", c"Ljava/util/NavigableMap;");
pub(super) static UNMODIFIABLE: KnownField =
    field(c"java/util/Collections$UnmodifiableCollection", c"c", c"Ljava/util/Collection;");
pub(super) static UNMODIFIABLE_MAP: KnownField =
    field(c"java/util/Collections$UnmodifiableMap", c"m", c"Ljava/util/Map;");
pub(super) static SYNCHRONIZED: KnownField =
    field(c"java/util/Collections$SynchronizedCollection", c"c", c"Ljava/util/Collection;");
pub(super) static SYNCHRONIZED_MAP: KnownField =
    field(c"java/util/Collections$SynchronizedMap", c"m", c"Ljava/util/Map;");

impl Known {
    /// How objects of a class are read; `None` if only class and identity are.
    pub(super) fn of(class: &str) -> Option<Self> {
        let name = class.strip_prefix("java.")?;
        Some(match name {
            "math.BigDecimal" => Self::Decimal,
            "math.BigInteger" => Self::Integer,
            "util.UUID" => Self::Uuid,
            "time.LocalDate" => Self::LocalDate,
            "time.LocalTime" => Self::LocalTime,
            "time.LocalDateTime" => Self::LocalDateTime,
            "time.Instant" => Self::Instant,
            "time.Duration" => Self::Duration,
            "time.OffsetDateTime" => Self::OffsetDateTime,
            "time.ZonedDateTime" => Self::ZonedDateTime,
            "time.ZoneOffset" => Self::ZoneOffset,
            "time.ZoneRegion" => Self::ZoneRegion,
            "util.Date" => Self::Date,
            "lang.StringBuilder" | "lang.StringBuffer" => Self::Builder,
            "lang.Class" => Self::Class,
            "util.concurrent.atomic.AtomicInteger" => Self::AtomicInteger,
            "util.concurrent.atomic.AtomicLong" => Self::AtomicLong,
            "util.concurrent.atomic.AtomicBoolean" => Self::AtomicBoolean,
            "util.concurrent.atomic.AtomicReference" => Self::AtomicReference,
            "util.Optional" => Self::Optional,
            "util.OptionalInt" => Self::OptionalInt,
            "util.OptionalLong" => Self::OptionalLong,
            "util.OptionalDouble" => Self::OptionalDouble,
            "net.URI" => Self::Uri,
            "net.URL" => Self::Url,
            "util.ArrayList" => Self::ArrayList,
            "util.Vector" | "util.Stack" => Self::Vector,
            "util.Arrays$ArrayList" => Self::ArraysList,
            "util.ImmutableCollections$ListN" => Self::ListN,
            "util.concurrent.CopyOnWriteArrayList" => Self::CopyOnWriteList,
            "util.ImmutableCollections$SetN" => Self::SetN,
            "util.ImmutableCollections$MapN" => Self::MapN,
            "util.ImmutableCollections$List12" => Self::List12,
            "util.ImmutableCollections$Set12" => Self::Set12,
            "util.ImmutableCollections$Map1" => Self::Map1,
            "util.Collections$SingletonList" => Self::SingletonList,
            "util.Collections$SingletonSet" => Self::SingletonSet,
            "util.Collections$SingletonMap" => Self::SingletonMap,
            "util.Collections$EmptyList" | "util.Collections$EmptySet" => Self::EmptyCollection,
            "util.Collections$EmptyMap" => Self::EmptyMap,
            "util.LinkedList" => Self::LinkedList,
            "util.ArrayDeque" => Self::ArrayDeque,
            "util.HashMap" => Self::HashMap,
            "util.LinkedHashMap" => Self::LinkedHashMap,
            "util.concurrent.ConcurrentHashMap" => Self::ConcurrentHashMap,
            "util.TreeMap" => Self::TreeMap,
            "util.HashSet" | "util.LinkedHashSet" => Self::HashSet,
            "util.TreeSet" => Self::TreeSet,
            _ => return Self::wrapped(name.strip_prefix("util.Collections$")?),
        })
    }

    fn wrapped(name: &str) -> Option<Self> {
        let (kind, of) = match name {
            _ if name.starts_with("Unmodifiable") => (&name["Unmodifiable".len()..], true),
            _ if name.starts_with("Synchronized") => (&name["Synchronized".len()..], false),
            _ => return None,
        };
        Some(match (kind, of) {
            ("Map" | "SortedMap" | "NavigableMap" | "SequencedMap", true) => {
                Self::WrappedMap(&UNMODIFIABLE_MAP)
            }
            ("Map" | "SortedMap" | "NavigableMap", false) => Self::WrappedMap(&SYNCHRONIZED_MAP),
            (_, true) if is_collection(kind) => Self::WrappedCollection(&UNMODIFIABLE),
            (_, false) if is_collection(kind) => Self::WrappedCollection(&SYNCHRONIZED),
            _ => return None,
        })
    }
}

fn is_collection(kind: &str) -> bool {
    kind.ends_with("Collection")
        || kind.ends_with("List")
        || kind.ends_with("Set") && !kind.contains("Entry")
}
