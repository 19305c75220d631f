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

/// Fields by their classes.
macro_rules! fields {
    ($($name:ident = $class:literal $field:literal $descriptor:literal;)*) => {
        $(pub(super) static $name: KnownField = field($class, $field, $descriptor);)*
    };
}

fields! {
    DECIMAL_COMPACT = c"java/math/BigDecimal" c"intCompact" c"J";
    DECIMAL_VALUE = c"java/math/BigDecimal" c"intVal" c"Ljava/math/BigInteger;";
    DECIMAL_SCALE = c"java/math/BigDecimal" c"scale" c"I";
    INTEGER_SIGN = c"java/math/BigInteger" c"signum" c"I";
    INTEGER_DIGITS = c"java/math/BigInteger" c"mag" c"[I";
    UUID_MOST = c"java/util/UUID" c"mostSigBits" c"J";
    UUID_LEAST = c"java/util/UUID" c"leastSigBits" c"J";
    DATE_YEAR = c"java/time/LocalDate" c"year" c"I";
    DATE_MONTH = c"java/time/LocalDate" c"month" c"S";
    DATE_DAY = c"java/time/LocalDate" c"day" c"S";
    DATE_MONTH_BYTE = c"java/time/LocalDate" c"month" c"B";
    DATE_DAY_BYTE = c"java/time/LocalDate" c"day" c"B";
    TIME_HOUR = c"java/time/LocalTime" c"hour" c"B";
    TIME_MINUTE = c"java/time/LocalTime" c"minute" c"B";
    TIME_SECOND = c"java/time/LocalTime" c"second" c"B";
    TIME_NANO = c"java/time/LocalTime" c"nano" c"I";
    DATE_TIME_DATE = c"java/time/LocalDateTime" c"date" c"Ljava/time/LocalDate;";
    DATE_TIME_TIME = c"java/time/LocalDateTime" c"time" c"Ljava/time/LocalTime;";
    INSTANT_SECONDS = c"java/time/Instant" c"seconds" c"J";
    INSTANT_NANOS = c"java/time/Instant" c"nanos" c"I";
    DURATION_SECONDS = c"java/time/Duration" c"seconds" c"J";
    DURATION_NANOS = c"java/time/Duration" c"nanos" c"I";
    OFFSET_DATE_TIME = c"java/time/OffsetDateTime" c"dateTime" c"Ljava/time/LocalDateTime;";
    OFFSET_OFFSET = c"java/time/OffsetDateTime" c"offset" c"Ljava/time/ZoneOffset;";
    ZONED_DATE_TIME = c"java/time/ZonedDateTime" c"dateTime" c"Ljava/time/LocalDateTime;";
    ZONED_OFFSET = c"java/time/ZonedDateTime" c"offset" c"Ljava/time/ZoneOffset;";
    ZONED_ZONE = c"java/time/ZonedDateTime" c"zone" c"Ljava/time/ZoneId;";
    OFFSET_ID = c"java/time/ZoneOffset" c"id" c"Ljava/lang/String;";
    REGION_ID = c"java/time/ZoneRegion" c"id" c"Ljava/lang/String;";
    OLD_DATE = c"java/util/Date" c"fastTime" c"J";
    BUILDER_BYTES = c"java/lang/AbstractStringBuilder" c"value" c"[B";
    BUILDER_CODER = c"java/lang/AbstractStringBuilder" c"coder" c"B";
    BUILDER_COUNT = c"java/lang/AbstractStringBuilder" c"count" c"I";
    ATOMIC_INTEGER = c"java/util/concurrent/atomic/AtomicInteger" c"value" c"I";
    ATOMIC_LONG = c"java/util/concurrent/atomic/AtomicLong" c"value" c"J";
    ATOMIC_BOOLEAN = c"java/util/concurrent/atomic/AtomicBoolean" c"value" c"I";
    ATOMIC_REFERENCE = c"java/util/concurrent/atomic/AtomicReference" c"value" c"Ljava/lang/Object;";
    OPTIONAL = c"java/util/Optional" c"value" c"Ljava/lang/Object;";
    OPTIONAL_HAS_INT = c"java/util/OptionalInt" c"isPresent" c"Z";
    OPTIONAL_INT = c"java/util/OptionalInt" c"value" c"I";
    OPTIONAL_HAS_LONG = c"java/util/OptionalLong" c"isPresent" c"Z";
    OPTIONAL_LONG = c"java/util/OptionalLong" c"value" c"J";
    OPTIONAL_HAS_DOUBLE = c"java/util/OptionalDouble" c"isPresent" c"Z";
    OPTIONAL_DOUBLE = c"java/util/OptionalDouble" c"value" c"D";
    ARRAY_LIST = c"java/util/ArrayList" c"elementData" c"[Ljava/lang/Object;";
    ARRAY_LIST_SIZE = c"java/util/ArrayList" c"size" c"I";
    VECTOR = c"java/util/Vector" c"elementData" c"[Ljava/lang/Object;";
    VECTOR_SIZE = c"java/util/Vector" c"elementCount" c"I";
    ARRAYS_LIST = c"java/util/Arrays$ArrayList" c"a" c"[Ljava/lang/Object;";
    LIST_N = c"java/util/ImmutableCollections$ListN" c"elements" c"[Ljava/lang/Object;";
    COPY_ON_WRITE = c"java/util/concurrent/CopyOnWriteArrayList" c"array" c"[Ljava/lang/Object;";
    SET_N = c"java/util/ImmutableCollections$SetN" c"elements" c"[Ljava/lang/Object;";
    SET_N_SIZE = c"java/util/ImmutableCollections$SetN" c"size" c"I";
    MAP_N = c"java/util/ImmutableCollections$MapN" c"table" c"[Ljava/lang/Object;";
    MAP_N_SIZE = c"java/util/ImmutableCollections$MapN" c"size" c"I";
    LIST_0 = c"java/util/ImmutableCollections$List12" c"e0" c"Ljava/lang/Object;";
    LIST_1 = c"java/util/ImmutableCollections$List12" c"e1" c"Ljava/lang/Object;";
    SET_0 = c"java/util/ImmutableCollections$Set12" c"e0" c"Ljava/lang/Object;";
    SET_1 = c"java/util/ImmutableCollections$Set12" c"e1" c"Ljava/lang/Object;";
    MAP_KEY = c"java/util/ImmutableCollections$Map1" c"k0" c"Ljava/lang/Object;";
    MAP_VALUE = c"java/util/ImmutableCollections$Map1" c"v0" c"Ljava/lang/Object;";
    SINGLETON_LIST = c"java/util/Collections$SingletonList" c"element" c"Ljava/lang/Object;";
    SINGLETON_SET = c"java/util/Collections$SingletonSet" c"element" c"Ljava/lang/Object;";
    SINGLETON_KEY = c"java/util/Collections$SingletonMap" c"k" c"Ljava/lang/Object;";
    SINGLETON_VALUE = c"java/util/Collections$SingletonMap" c"v" c"Ljava/lang/Object;";
    LINKED_LIST = c"java/util/LinkedList" c"first" c"Ljava/util/LinkedList$Node;";
    LINKED_LIST_SIZE = c"java/util/LinkedList" c"size" c"I";
    LINKED_ITEM = c"java/util/LinkedList$Node" c"item" c"Ljava/lang/Object;";
    LINKED_NEXT = c"java/util/LinkedList$Node" c"next" c"Ljava/util/LinkedList$Node;";
    DEQUE = c"java/util/ArrayDeque" c"elements" c"[Ljava/lang/Object;";
    DEQUE_HEAD = c"java/util/ArrayDeque" c"head" c"I";
    DEQUE_TAIL = c"java/util/ArrayDeque" c"tail" c"I";
    HASH_MAP = c"java/util/HashMap" c"table" c"[Ljava/util/HashMap$Node;";
    HASH_MAP_SIZE = c"java/util/HashMap" c"size" c"I";
    HASH_KEY = c"java/util/HashMap$Node" c"key" c"Ljava/lang/Object;";
    HASH_VALUE = c"java/util/HashMap$Node" c"value" c"Ljava/lang/Object;";
    HASH_NEXT = c"java/util/HashMap$Node" c"next" c"Ljava/util/HashMap$Node;";
    LINKED_MAP = c"java/util/LinkedHashMap" c"head" c"Ljava/util/LinkedHashMap$Entry;";
    LINKED_AFTER = c"java/util/LinkedHashMap$Entry" c"after" c"Ljava/util/LinkedHashMap$Entry;";
    CONCURRENT = c"java/util/concurrent/ConcurrentHashMap" c"table" c"[Ljava/util/concurrent/ConcurrentHashMap$Node;";
    CONCURRENT_COUNT = c"java/util/concurrent/ConcurrentHashMap" c"baseCount" c"J";
    CONCURRENT_HASH = c"java/util/concurrent/ConcurrentHashMap$Node" c"hash" c"I";
    CONCURRENT_KEY = c"java/util/concurrent/ConcurrentHashMap$Node" c"key" c"Ljava/lang/Object;";
    CONCURRENT_VALUE = c"java/util/concurrent/ConcurrentHashMap$Node" c"val" c"Ljava/lang/Object;";
    CONCURRENT_NEXT = c"java/util/concurrent/ConcurrentHashMap$Node" c"next" c"Ljava/util/concurrent/ConcurrentHashMap$Node;";
    TREE_MAP = c"java/util/TreeMap" c"root" c"Ljava/util/TreeMap$Entry;";
    TREE_MAP_SIZE = c"java/util/TreeMap" c"size" c"I";
    TREE_KEY = c"java/util/TreeMap$Entry" c"key" c"Ljava/lang/Object;";
    TREE_VALUE = c"java/util/TreeMap$Entry" c"value" c"Ljava/lang/Object;";
    TREE_LEFT = c"java/util/TreeMap$Entry" c"left" c"Ljava/util/TreeMap$Entry;";
    TREE_RIGHT = c"java/util/TreeMap$Entry" c"right" c"Ljava/util/TreeMap$Entry;";
    HASH_SET = c"java/util/HashSet" c"map" c"Ljava/util/HashMap;";
    TREE_SET = c"java/util/TreeSet" c"m" c"Ljava/util/NavigableMap;";
    UNMODIFIABLE = c"java/util/Collections$UnmodifiableCollection" c"c" c"Ljava/util/Collection;";
    UNMODIFIABLE_MAP = c"java/util/Collections$UnmodifiableMap" c"m" c"Ljava/util/Map;";
    SYNCHRONIZED = c"java/util/Collections$SynchronizedCollection" c"c" c"Ljava/util/Collection;";
    SYNCHRONIZED_MAP = c"java/util/Collections$SynchronizedMap" c"m" c"Ljava/util/Map;";
}

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
            "util.concurrent.atomic.AtomicInteger" => Self::AtomicInteger,
            "util.concurrent.atomic.AtomicLong" => Self::AtomicLong,
            "util.concurrent.atomic.AtomicBoolean" => Self::AtomicBoolean,
            "util.concurrent.atomic.AtomicReference" => Self::AtomicReference,
            "util.Optional" => Self::Optional,
            "util.OptionalInt" => Self::OptionalInt,
            "util.OptionalLong" => Self::OptionalLong,
            "util.OptionalDouble" => Self::OptionalDouble,
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
