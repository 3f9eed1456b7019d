// A list of rows of any height, of which only those on the screen exist. It follows its end while that is on the screen, else
// what is read stays in its place whatever comes before or after it.
import { Component, createRef, type ComponentChild } from "preact";
import { anchorAt, Layout, scrollFor, type Anchor, type Row } from "./layout";
import { RowBox, type RowOwner } from "./row";

/** What others may have a list do. */
export interface ListHandle {
  toEnd(): void;
  reveal(key: string, focus: boolean): void;
}

export interface ListProps<R extends Row> {
  /** Has the list as long as it exists. */
  readonly handle: { current: ListHandle | null };
  readonly rows: readonly R[];
  readonly draw: (row: R) => ComponentChild;
  /** What a row is to somebody who cannot see it. */
  readonly name: (row: R) => string;
  readonly label: string;
  readonly busy: boolean;
  /** There are more rows before the first than are here. */
  readonly more: boolean;
  /** Somebody reads near the beginning. */
  readonly onStart: () => void;
  /** Whether the end is followed from now on. */
  readonly onFollow: (follows: boolean) => void;
  /** The keyboard wants out of the list. */
  readonly onLeave: () => void;
}

interface ListState {
  readonly scroll: number;
  readonly height: number;
  /** The row that the keyboard is at. */
  readonly focused: string | undefined;
}

const overscan = 400; // pixels that are drawn above and below the screen
const nearEnd = 24; // pixels
const nearStart = 600;

export class List<R extends Row> extends Component<ListProps<R>, ListState> implements RowOwner, ListHandle {
  override state: ListState = { scroll: 0, height: 600, focused: undefined };
  private readonly scroller = createRef<HTMLDivElement>();
  private readonly heights = new Map<string, number>();
  private readonly elements = new Map<string, HTMLElement>();
  private readonly sizes = new ResizeObserver((entries) => this.measured(entries));
  private layout = new Layout([], this.heights);
  private anchor: Anchor | undefined;
  private follows = true;
  private seen = { top: 0, height: 0 }; // how far it was scrolled, and of how much
  private width = 0;
  private focusing: string | undefined; // the row that gets the focus as soon as it exists

  override componentDidMount(): void {
    this.props.handle.current = this;
    if (this.scroller.current) this.sizes.observe(this.scroller.current);
    this.settle();
  }

  override componentDidUpdate(): void {
    this.settle();
  }

  override componentWillUnmount(): void {
    if (this.props.handle.current === this) this.props.handle.current = null;
    this.sizes.disconnect();
  }

  /** Goes to the end and stays there. */
  toEnd(): void {
    this.follow(true);
    this.settle();
  }

  /** Brings a row onto the screen and, if wanted, the keyboard to it. */
  reveal(key: string, focus: boolean): void {
    const index = this.props.rows.findIndex((row) => row.key === key);
    const scroller = this.scroller.current;
    if (index < 0 || !scroller) return;
    if (focus && !this.elements.has(key)) this.focusing = key;
    const [top, end] = [this.layout.top(index), this.layout.top(index + 1)];
    const { scrollTop, clientHeight } = scroller;
    if (top < scrollTop) this.leave(top);
    else if (end > scrollTop + clientHeight) this.leave(Math.min(top, end - clientHeight));
    if (focus) this.elements.get(key)?.focus({ preventScroll: true });
    this.setState(focus ? { focused: key } : {});
  }

  override render(
    { rows, draw, name, label, busy, more }: ListProps<R>,
    { scroll, height, focused }: ListState,
  ): ComponentChild {
    this.layout = new Layout(rows, this.heights);
    const [from, to] = this.follows
      ? this.layout.between(this.layout.height - height - overscan, this.layout.height)
      : this.layout.between(scroll - overscan, scroll + height + overscan);
    const pinned = focused === undefined ? -1 : rows.findIndex((row) => row.key === focused);
    const shown = Array.from({ length: to - from }, (_, i) => from + i);
    if (pinned >= 0 && (pinned < from || pinned >= to)) shown.push(pinned);
    shown.sort((a, b) => a - b);
    const entry = focused !== undefined && pinned >= 0 ? focused : rows.at(-1)?.key;
    return (
      <div class="list" ref={this.scroller} onScroll={() => this.scrolled()} onKeyDown={(event) => this.key(event)}>
        <div class="rows" role="feed" aria-label={label} aria-busy={busy} style={{ height: `${this.layout.height}px` }}>
          {shown.map((index) => {
            const row = rows[index];
            if (!row) return null;
            return (
              <RowBox
                key={row.key}
                row={row}
                draw={draw}
                name={name(row)}
                index={index}
                count={more ? -1 : rows.length}
                top={this.layout.top(index)}
                entry={row.key === entry}
                owner={this}
              />
            );
          })}
        </div>
      </div>
    );
  }

  /** A row exists from now on. */
  appeared(key: string, element: HTMLElement): void {
    this.elements.set(key, element);
    this.sizes.observe(element);
    if (this.focusing !== key) return;
    this.focusing = undefined;
    element.focus({ preventScroll: true });
  }

  /** A row does not exist any more. */
  disappeared(key: string, element: HTMLElement): void {
    this.sizes.unobserve(element);
    if (this.elements.get(key) === element) this.elements.delete(key);
  }

  /** The keyboard is in a row. */
  entered(key: string): void {
    if (key !== this.state.focused) this.setState({ focused: key });
  }

  private measured(entries: readonly ResizeObserverEntry[]): void {
    let changed = false;
    for (const { target } of entries) {
      if (target === this.scroller.current) {
        changed = this.resized(target) || changed;
        continue;
      }
      const key = (target as HTMLElement).dataset.key ?? "";
      const height = target.getBoundingClientRect().height;
      if (this.elements.get(key) !== target || this.heights.get(key) === height) continue;
      this.heights.set(key, height);
      changed = true;
    }
    if (changed) this.forceUpdate();
  }

  private resized(scroller: Element): boolean {
    const { clientHeight, clientWidth } = scroller;
    if (clientWidth !== this.width) this.forgetHidden(); // other lines, other heights
    this.width = clientWidth;
    if (clientHeight === this.state.height) return false;
    this.setState({ height: clientHeight });
    return true;
  }

  private forgetHidden(): void {
    for (const key of this.heights.keys()) if (!this.elements.has(key)) this.heights.delete(key);
  }

  /** Scrolls to where it should be after rows have changed. */
  private settle(): void {
    const scroller = this.scroller.current;
    if (!scroller) return;
    const wanted = this.follows
      ? this.layout.height - scroller.clientHeight
      : this.anchor && scrollFor(this.props.rows, this.layout, this.anchor);
    if (wanted !== undefined) this.scrollTo(wanted);
    this.prune();
    if (!this.follows && scroller.scrollTop < nearStart) this.props.onStart();
  }

  /** Forgets the heights of rows that are no more. */
  private prune(): void {
    if (this.heights.size < 2 * this.props.rows.length + 100) return;
    const keys = new Set(this.props.rows.map((row) => row.key));
    for (const key of this.heights.keys()) if (!keys.has(key)) this.heights.delete(key);
  }

  private scrollTo(top: number): void {
    const scroller = this.scroller.current;
    if (!scroller) return;
    if (Math.abs(scroller.scrollTop - top) >= 1) scroller.scrollTop = top;
    this.seen = { top: scroller.scrollTop, height: scroller.scrollHeight }; // it has limits, and the browser may have kept them
    if (this.seen.top !== this.state.scroll) this.setState({ scroll: this.seen.top });
  }

  /** Something has scrolled: we, the user, or the browser because the rows have become fewer. */
  private scrolled(): void {
    const scroller = this.scroller.current;
    if (!scroller) return;
    const { scrollTop, clientHeight, scrollHeight } = scroller;
    const { top, height } = this.seen;
    if (Math.abs(scrollTop - top) < 1) return;
    this.seen = { top: scrollTop, height: scrollHeight };
    const left = scrollTop < top && scrollHeight >= height; // only the user goes up while there is as much as before
    const atEnd = scrollTop + clientHeight >= scrollHeight - nearEnd;
    this.anchor = anchorAt(this.props.rows, this.layout, scrollTop, clientHeight);
    this.follow(atEnd || (this.follows && !left));
    this.setState({ scroll: scrollTop });
  }

  /** Goes somewhere and stays there. */
  private leave(top: number): void {
    this.scrollTo(top);
    const { scrollTop, clientHeight, scrollHeight } = this.scroller.current ?? {
      scrollTop: 0,
      clientHeight: 0,
      scrollHeight: 0,
    };
    this.anchor = anchorAt(this.props.rows, this.layout, scrollTop, clientHeight);
    this.follow(scrollTop + clientHeight >= scrollHeight - nearEnd);
  }

  private follow(follows: boolean): void {
    if (follows === this.follows) return;
    this.follows = follows;
    this.props.onFollow(follows);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>(".row");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (target === row) this.props.onLeave();
      else row.focus();
      event.preventDefault();
      return;
    }
    const at = this.props.rows.findIndex((known) => known.key === row.dataset.key);
    const steps: Record<string, number> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      Home: 0,
      End: this.props.rows.length - 1,
    };
    const to = this.props.rows[steps[event.key] ?? -1];
    if (target !== row || !to) return;
    event.preventDefault();
    this.reveal(to.key, true);
  }
}
