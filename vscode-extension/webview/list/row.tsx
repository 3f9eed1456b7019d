// The place of one row in a list. It is drawn anew only when its row is another object.
import { Component, createRef, type ComponentChild } from "preact";
import type { Row } from "./layout";

/** The list that a row is told to. */
export interface RowOwner {
  appeared(key: string, element: HTMLElement): void;
  disappeared(key: string, element: HTMLElement): void;
  entered(key: string): void;
}

export interface RowBoxProps<R extends Row> {
  readonly row: R;
  readonly draw: (row: R) => ComponentChild;
  readonly name: string;
  readonly index: number;
  /** Of all rows; -1 when it is not known. */
  readonly count: number;
  readonly top: number;
  /** The keyboard comes into the list here. */
  readonly entry: boolean;
  readonly owner: RowOwner;
}

export class RowBox<R extends Row> extends Component<RowBoxProps<R>> {
  private readonly element = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    if (this.element.current) this.props.owner.appeared(this.props.row.key, this.element.current);
  }

  override componentWillUnmount(): void {
    if (this.element.current) this.props.owner.disappeared(this.props.row.key, this.element.current);
  }

  override shouldComponentUpdate(next: RowBoxProps<R>): boolean {
    const { row, name, index, count, top, entry } = this.props;
    return (
      row !== next.row ||
      name !== next.name ||
      index !== next.index ||
      count !== next.count ||
      top !== next.top ||
      entry !== next.entry
    );
  }

  override render({ row, draw, name, index, count, top, entry, owner }: RowBoxProps<R>): ComponentChild {
    return (
      <div
        ref={this.element}
        class="row"
        role="article"
        aria-label={name}
        aria-posinset={index + 1}
        aria-setsize={count}
        tabIndex={entry ? 0 : -1}
        data-key={row.key}
        style={{ top: `${top}px` }}
        onFocusIn={() => owner.entered(row.key)}
      >
        <RowContent row={row} draw={draw} />
      </div>
    );
  }
}

/** What is drawn of a row stays as it is when the row only moves. */
class RowContent<R extends Row> extends Component<Pick<RowBoxProps<R>, "row" | "draw">> {
  override shouldComponentUpdate(next: Pick<RowBoxProps<R>, "row">): boolean {
    return this.props.row !== next.row;
  }

  override render({ row, draw }: Pick<RowBoxProps<R>, "row" | "draw">): ComponentChild {
    return draw(row);
  }
}
