//! The names of methods as people read them.
//!
//! | form | example | used |
//! |---|---|---|
//! | short | `Orders.total` | where a method is mentioned in passing |
//! | readable | `com.app.Orders.total(Customer, int)` | text |
//! | full | `com.app.Orders.total(Lcom/app/Customer;I)V` | for programs, and where everything is shown |
//!
//! Different methods have different readable names. Where the names of overloads are equal, they get what
//! distinguishes them: the type of the result, `get(): String`, or the packages of the types,
//! `total(a.Customer)`.
//!
//! Short and readable names are as the [language](languages) of the source writes them, unless the
//! [raw](crate::read::Methods::show_raw_names) ones are wanted: `Orders.total lambda` for `Orders.lambda$total$0`.
//!
//! Names of behaviours are made of [stable ones](stable_key).

mod forms;
mod languages;
mod raw;
mod stable;

pub use self::forms::{NameForm, Overloads, argument_count, type_name};
pub use self::languages::MADE_WORDS;
pub use self::raw::{KeptOrigin, Name, Origin};
pub use self::stable::{stable_key, stable_name};
