// A diff in the colours of its file's language.
import * as l10n from "@vscode/l10n";
import { Component, type VNode } from "preact";
import { sidesOf, type DiffLine, type Sides } from "../diff";
import { scrolls } from "../focus";
import { pieces } from "./code";
import { highlighter, type Lines } from "./highlighter";
import { languageOfFile } from "./language";

interface DiffProps {
  readonly lines: readonly DiffLine[];
  readonly path: string;
}

/** The sides of lines, with their colours. */
interface Colored {
  readonly sides: Sides;
  readonly lines: readonly Lines[];
}

export class DiffCode extends Component<DiffProps, { colored: Colored | undefined }> {
  override state: { colored: Colored | undefined } = { colored: known(this.props) };
  private gone = false;

  override componentDidMount(): void {
    if (!this.state.colored) void this.color();
  }

  override componentDidUpdate(before: DiffProps): void {
    if (!same(before, this.props)) void this.color();
  }

  override componentWillUnmount(): void {
    this.gone = true;
  }

  override render({ lines, path }: DiffProps, { colored }: { colored: Colored | undefined }): VNode {
    return (
      <pre class="diff" dir="ltr" {...scrolls(l10n.t("Changes of {0}", path))}>
        {lines.map((line, i) => (
          <span class={line.kind}>{[...inColors(line, i, colored), "\n"]}</span>
        ))}
      </pre>
    );
  }

  private async color(): Promise<void> {
    const { props } = this;
    const sides = sidesOf(props.lines);
    const lines = await highlighter.lines(languageOfFile(props.path), sides.texts, true);
    if (!this.gone && same(props, this.props)) this.setState({ colored: { sides, lines } });
  }
}

function same(a: DiffProps, b: DiffProps): boolean {
  return (
    a.path === b.path && a.lines.length === b.lines.length && a.lines.every(({ text }, i) => text === b.lines[i]?.text)
  );
}

function known({ lines, path }: DiffProps): Colored | undefined {
  const sides = sidesOf(lines);
  const found = highlighter.known(languageOfFile(path), sides.texts);
  return found && { sides, lines: found };
}

/** A line behind its sign; as it is where its colours are not known. */
function inColors({ text }: DiffLine, i: number, colored: Colored | undefined): ReturnType<typeof pieces> {
  const place = colored?.sides.places[i];
  const line = place && colored.lines[place.text]?.[place.line];
  const fits = line?.map(([, part]) => part).join("") === text.slice(1);
  return line && fits ? [text.slice(0, 1), ...pieces(line)] : [text];
}
