// Code in colours. What is here is drawn at once, without; the colours come as soon as a worker has them.
import { Component, type ComponentChild } from "preact";
import { highlighter, type Line } from "./highlighter";

interface CodeProps {
  readonly text: string;
  readonly language: string;
  /** More of it comes. */
  readonly open: boolean;
  /** What stands before it in the same code: it may begin within a comment. */
  readonly before: () => string;
}

interface Colored {
  readonly text: string;
  readonly above: string;
  readonly lines: readonly Line[];
}

export class Code extends Component<CodeProps, { colored: Colored | undefined }> {
  override state: { colored: Colored | undefined } = { colored: known(this.props) };
  private asking = false;
  private gone = false;

  override componentDidMount(): void {
    void this.color();
  }

  override shouldComponentUpdate(next: CodeProps, { colored }: { colored: Colored | undefined }): boolean {
    const { text, language, open } = this.props;
    return text !== next.text || language !== next.language || open !== next.open || colored !== this.state.colored;
  }

  override componentDidUpdate(before: CodeProps): void {
    if (before.text !== this.props.text || before.open !== this.props.open) void this.color();
  }

  override componentWillUnmount(): void {
    this.gone = true;
  }

  override render({ text }: CodeProps, { colored }: { colored: Colored | undefined }): ComponentChild {
    if (!colored || !text.startsWith(colored.text)) return <code>{text}</code>;
    return (
      <code>
        {colored.lines.map((line, i) => [i > 0 && "\n", ...pieces(line)])}
        {text.slice(colored.text.length)}
      </code>
    );
  }

  /** Asks for the colours of what is here; while more comes, of its whole lines and of one state of it at a time. */
  private async color(): Promise<void> {
    while (!this.asking && !this.gone) {
      const { language, open } = this.props;
      const { text, above } = wanted(this.props);
      const { colored } = this.state;
      if (text === "" || (colored?.text === text && colored.above === above)) return;
      this.asking = true;
      const [lines] = await highlighter.lines(language, [above + text], !open);
      this.asking = false;
      if (!lines) return; // it has none, and will have none
      await new Promise<void>((resolve) => this.setState({ colored: coloredOf(text, above, lines) }, resolve));
    }
  }
}

/** What is coloured: all of it, as it follows from what is above, or the whole lines of what still grows. */
function wanted({ text, open, before }: CodeProps): { text: string; above: string } {
  return open ? { text: text.slice(0, text.lastIndexOf("\n") + 1), above: "" } : { text, above: before() };
}

function coloredOf(text: string, above: string, lines: readonly Line[]): Colored {
  return { text, above, lines: lines.slice(above.split("\n").length - 1) };
}

function known(props: CodeProps): Colored | undefined {
  const { text, above } = wanted(props);
  const lines = highlighter.known(props.language, [above + text])?.[0];
  return lines && coloredOf(text, above, lines);
}

/** The pieces of a line, as elements. */
export function pieces(line: Line): ComponentChild[] {
  return line.map(([scope, text]) => (scope === "" ? text : <span class={`c-${scope}`}>{text}</span>));
}
