//! Draws what happened: a heading, methods, threads, and a line with the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Row;

use super::view::{Focus, Page, View, default_key, heading, now_in, title};
use crate::args::TopKey;
use crate::output::{duration, grouped, percent};
use crate::terminal::{BOLD, DIM, draw_page, draw_table, left, right, safe};
use flow_query::ask::Refresh;

const KEYS: &str = " q end  ↑↓ choose  Tab table  Enter open  s sort  / find  space stop  ? help";

/// Draws all of it. `said` is what the collector said last, if the trace is received here.
pub(super) fn draw(frame: &mut Frame<'_>, refresh: &Refresh, view: &View, said: Option<&str>) {
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    let first = if refresh.title.is_empty() { "reading …".to_owned() } else { heading(refresh) };
    frame.render_widget(Line::styled(safe(&first), BOLD), top);
    match &view.page {
        Some(Page::Help) => draw_help(frame, middle),
        Some(Page::Method(name)) => draw_method(frame, middle, refresh, name),
        Some(Page::Thread(title)) => draw_thread(frame, middle, refresh, title),
        None => {
            // Threads get what they need, at most two fifths.
            let rows = u16::try_from(view.threads(refresh).len()).unwrap_or(u16::MAX);
            let threads = rows.saturating_add(2).min(middle.height * 2 / 5).max(3);
            let [above, below] =
                Layout::vertical([Constraint::Min(3), Constraint::Length(threads)]).areas(middle);
            draw_methods(frame, above, refresh, view);
            draw_threads(frame, below, refresh, view);
        }
    }
    frame.render_widget(Line::styled(last_line(refresh, view, said), DIM), bottom);
}

/// What a person types, or what is wrong, or the keys.
fn last_line(refresh: &Refresh, view: &View, said: Option<&str>) -> String {
    if view.is_typing {
        return format!(" find: {}_   Enter keeps it, Esc ends it", safe(&view.wanted));
    }
    let mut line = String::new();
    if view.is_frozen {
        line += " STOPPED (space continues)";
    }
    if !view.wanted.is_empty() {
        line += &format!(" only {} (Esc shows all)", safe(&view.wanted));
    }
    if let Some(damage) = refresh.damage.first().map(String::as_str).or(said) {
        line += &format!(" {}", safe(damage));
    }
    if line.is_empty() { KEYS.to_owned() } else { line }
}

fn draw_methods(frame: &mut Frame<'_>, area: Rect, refresh: &Refresh, view: &View) {
    let (all_ns, has_times, has_cpu) = (refresh.weight_ns(), refresh.has_times(), refresh.has_cpu);
    let key = view.sort.unwrap_or_else(|| default_key(refresh));
    let shown = view.methods(refresh);
    let rows = shown.iter().filter_map(|row| refresh.methods.get(*row)).map(|row| {
        let ns = row.weight_ns(has_cpu).unwrap_or(0);
        let (time, share) =
            if has_times { (duration(ns), percent(ns, all_ns)) } else { Default::default() };
        let or_blank = |ns: u64| if has_cpu && ns > 0 { duration(ns) } else { String::new() };
        Row::new([
            right(&grouped(refresh.rate(row.calls))),
            right(&time),
            right(&share),
            right(&or_blank(row.waiting_ns())),
            right(&or_blank(row.silent_ns)),
            left(&row.name),
        ])
    });
    let heading_of = |name: &'static str, of: Option<TopKey>| {
        if of == Some(key) { format!("{name}▾") } else { name.to_owned() }
    };
    let self_title =
        if has_times { heading_of("self", Some(TopKey::SelfTime)) } else { String::new() };
    let header = [
        right(&heading_of("calls/s", Some(TopKey::Calls))),
        right(&self_title),
        right(if has_times { "%" } else { "" }),
        right(if has_cpu { "waiting" } else { "" }),
        right(if has_cpu { "silent" } else { "" }),
        left(&heading_of("method", Some(TopKey::Name))),
    ];
    let times = match (has_times, has_cpu) {
        (true, true) => [8, 7, 8, 8],
        (true, false) => [8, 7, 0, 0],
        (false, _) => [0; 4],
    };
    let [self_width, share_width, waiting_width, silent_width] = times.map(Constraint::Length);
    let widths = [
        Constraint::Length(13),
        self_width,
        share_width,
        waiting_width,
        silent_width,
        Constraint::Min(10),
    ];
    let names: Vec<_> = shown
        .iter()
        .filter_map(|row| refresh.methods.get(*row))
        .map(|row| row.name.clone())
        .collect();
    let selected = view.selected(Focus::Methods, &names);
    draw_table(frame, area, (header, widths), rows, (selected, view.focus == Focus::Methods));
}

fn draw_threads(frame: &mut Frame<'_>, area: Rect, refresh: &Refresh, view: &View) {
    let threads = view.threads(refresh);
    let rows = threads.iter().map(|thread| {
        let since = thread.idle_ns.map_or(String::new(), duration);
        Row::new([
            right(&grouped(refresh.rate(thread.calls))),
            right(&since),
            left(&title(thread)),
            left(&now_in(thread)),
        ])
    });
    let header = [right("calls/s"), right("since"), left("thread"), left("now in")];
    let widths =
        [Constraint::Length(13), Constraint::Length(8), Constraint::Max(24), Constraint::Min(10)];
    let names: Vec<_> = threads.iter().map(|thread| title(thread)).collect();
    let selected = view.selected(Focus::Threads, &names);
    draw_table(frame, area, (header, widths), rows, (selected, view.focus == Focus::Threads));
}

/// Callers and callees of a method, the most frequent first.
fn draw_method(frame: &mut Frame<'_>, area: Rect, refresh: &Refresh, name: &str) {
    let row = refresh.methods.iter().position(|row| row.name == name);
    let name_of = |row: Option<usize>| {
        row.and_then(|row| refresh.methods.get(row)).map_or("(outermost)", |row| &row.name)
    };
    let list = |title: &str, mut found: Vec<(u64, String)>| {
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut lines = vec![Line::styled(title.to_owned(), BOLD)];
        lines.extend(found.into_iter().map(|(calls, name)| {
            Line::raw(format!("{:>13}  {}", grouped(refresh.rate(calls)), safe(&name)))
        }));
        lines
    };
    let edges = || refresh.edges.iter().filter(|_| row.is_some());
    let callers = edges().filter(|edge| Some(edge.callee) == row);
    let callees = edges().filter(|edge| edge.caller == row);
    let callers = callers.map(|edge| (edge.calls, name_of(edge.caller).to_owned())).collect();
    let callees = callees.map(|edge| (edge.calls, name_of(Some(edge.callee)).to_owned())).collect();
    let mut lines = vec![Line::styled(safe(name), BOLD), Line::raw("")];
    lines.extend(list("callers, calls/s", callers));
    lines.push(Line::raw(""));
    lines.extend(list("callees, calls/s", callees));
    draw_page(frame, area, lines);
}

/// The stack of a thread, the innermost call first.
fn draw_thread(frame: &mut Frame<'_>, area: Rect, refresh: &Refresh, name: &str) {
    let mut lines = vec![Line::styled(safe(name), BOLD), Line::raw("")];
    match refresh.threads.iter().find(|thread| title(thread) == name) {
        None => lines.push(Line::raw("has ended")),
        Some(thread) => {
            lines.extend(thread.stack.iter().rev().map(|name| Line::raw(safe(name))));
            if thread.is_partial {
                lines.push(Line::styled("… frames below may be missing", DIM));
            }
        }
    }
    draw_page(frame, area, lines);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let text = "\
calls/s    calls since the last interval, as a rate
self       for how long threads ran in the method itself since then; if that is not known, its time
waiting    for how long they waited there
silent     time there since the last event of a thread: it waits, or computes without a call
since      how long ago the last event of the thread was: it waits or computes in that method

Up, Down   choose a row           Enter  callers and callees of a method, stack of a thread
Tab        the other table        Esc    back
s          sort by the next column
/          only names with a text; Esc shows all again
space      stop, and continue
q          end";
    draw_page(frame, area, text.lines().map(Line::raw).collect());
}

#[cfg(test)]
mod tests {
    use flow_codec::{MethodId, ThreadId};
    use flow_query::ask::{ActiveMethod, ActiveThread, Edge};

    use super::*;

    fn shown(width: u16, height: u16, refresh: &Refresh, view: &View) -> Vec<String> {
        crate::terminal::shown(width, height, |frame| draw(frame, refresh, view, None))
    }

    fn refresh() -> Refresh {
        let method = |name: &str, calls, self_ns| ActiveMethod {
            trace: 0,
            id: MethodId::MAX,
            name: name.to_owned(),
            calls,
            self_ns: Some(self_ns),
            cpu_ns: None,
            silent_ns: 0,
        };
        let thread = ActiveThread {
            trace: String::new(),
            id: ThreadId::new(1),
            name: "main\u{1b}[2J".to_owned(),
            calls: 1_500,
            stack: vec!["a.B.main(String[])".to_owned(), "a.B.run()".to_owned()],
            is_partial: true,
            idle_ns: Some(2_000_000),
        };
        Refresh {
            title: "process 7".to_owned(),
            interval: std::time::Duration::from_secs(1),
            is_recording: true,
            age_ns: Some(61_000_000_000),
            calls: 1_500,
            bytes: 10,
            read_bytes: 10,
            methods: vec![method("a.B.run()", 1_499, 700), method("a.B.main(String[])", 1, 300)],
            edges: vec![Edge { caller: Some(1), callee: 0, calls: 1_499 }],
            threads: vec![thread],
            ..Refresh::default()
        }
    }

    #[test]
    fn the_tables_are_on_the_smallest_usual_terminal_and_on_smaller_ones() {
        let lines = shown(80, 24, &refresh(), &View::default());
        assert_eq!(lines[0], "process 7, for 61.0 s: 1,500 calls/s in 1 thread");
        assert!(
            lines[3].starts_with("        1,499") && lines[3].ends_with("a.B.run()"),
            "{lines:#?}"
        );
        assert!(lines[3].contains("70.0%"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("1 main\\u{1b}[2J")), "{lines:#?}");
        for (width, height) in [(1, 1), (20, 5), (40, 10), (200, 60)] {
            shown(width, height, &refresh(), &View::default());
        }
    }

    #[test]
    fn a_method_has_its_callers_and_a_thread_its_stack() {
        let page = |page| View { page: Some(page), ..View::default() };
        let lines = shown(80, 24, &refresh(), &page(Page::Method("a.B.run()".to_owned())));
        assert!(lines.contains(&"        1,499  a.B.main(String[])".to_owned()), "{lines:#?}");
        let name = title(&refresh().threads[0]);
        let lines = shown(80, 24, &refresh(), &page(Page::Thread(name)));
        assert_eq!(
            lines[4..7],
            ["a.B.run()", "a.B.main(String[])", "… frames below may be missing"]
        );
        let lines = shown(80, 24, &refresh(), &page(Page::Thread("9 gone".to_owned())));
        assert!(lines.contains(&"has ended".to_owned()));
    }
}
