// The stand-in for the vscode module in unit tests: the few APIs that the tested code uses. What tests give and look at is in
// `world`; APIs that no test calls are there for the bundler only and fail.

export class EventEmitter<T> {
  private listeners = new Set<(event: T) => unknown>();
  readonly event = (listener: (event: T) => unknown): Disposable => {
    const call = (event: T): unknown => listener(event);
    this.listeners.add(call);
    return new Disposable(() => this.listeners.delete(call));
  };
  fire(event: T): void {
    for (const listener of [...this.listeners]) listener(event);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Disposable {
  constructor(private readonly end: () => unknown) {}
  static from(...parts: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => {
      for (const part of parts) part.dispose();
    });
  }
  dispose(): unknown {
    return this.end();
  }
}

export class CancellationTokenSource {
  private readonly requested = new EventEmitter<void>();
  readonly token = { isCancellationRequested: false, onCancellationRequested: this.requested.event };
  cancel(): void {
    this.token.isCancellationRequested = true;
    this.requested.fire();
  }
  dispose(): void {
    this.requested.dispose();
  }
}

interface Progress {
  report(step: { message: string }): void;
}

type Values = Record<string, unknown>;
interface Folder {
  readonly uri: { readonly scheme: string; toString(): string; readonly fsPath: string };
  readonly name: string;
  readonly index: number;
}

/** What tests give to the code, and what the code has done. */
export const world = {
  settings: { user: {} as Values, workspace: {} as Values, defaults: {} as Values },
  folders: [] as Folder[],
  trusted: true,
  /** What has the cursor. */
  editor: undefined as unknown,
  /** What is on disk, by URI. */
  files: new Map<string, string>(),
  context: new Map<string, unknown>(),
  executed: [] as string[],
  copied: [] as string[],
  /** Providers of webview views, by the view's id. */
  views: new Map<string, unknown>(),
  messages: [] as string[],
  /** The participants of the chat, by their ids. */
  participants: new Map<string, unknown>(),
  /** The progress that was shown, what it told, and the button that cancels. */
  progress: [] as { readonly title: string; readonly told: string[]; cancel(): void }[],
  /** Answers the next message, quick pick or input. */
  answer: (() => undefined) as (text: string, choices: readonly unknown[]) => unknown,

  reset(): void {
    this.settings = { user: {}, workspace: {}, defaults: {} };
    this.folders = [];
    this.trusted = true;
    this.editor = undefined;
    this.files.clear();
    this.context.clear();
    this.executed = [];
    this.copied = [];
    this.messages = [];
    this.progress = [];
    this.answer = () => undefined;
  },
  folder(path: string): Folder {
    const uri = { scheme: "file", fsPath: path, toString: () => `file://${path}` };
    return { uri, name: path.slice(path.lastIndexOf("/") + 1), index: 0 };
  },
};

const events = {
  folders: new EventEmitter<void>(),
  trust: new EventEmitter<void>(),
  settings: new EventEmitter<void>(),
};

export const workspace = {
  get isTrusted(): boolean {
    return world.trusted;
  },
  get workspaceFolders(): readonly Folder[] {
    return world.folders;
  },
  onDidChangeWorkspaceFolders: events.folders.event,
  onDidGrantWorkspaceTrust: events.trust.event,
  onDidChangeConfiguration: events.settings.event,
  getWorkspaceFolder: (uri: { toString(): string }): Folder | undefined =>
    world.folders
      .filter((folder) => uri.toString().startsWith(`${folder.uri.toString()}/`))
      .sort((a, b) => b.uri.fsPath.length - a.uri.fsPath.length)[0],
  registerTextDocumentContentProvider: (): Disposable => new Disposable(() => undefined),
  fs: {
    readFile(uri: { toString(): string }): Promise<Uint8Array> {
      const text = world.files.get(uri.toString());
      return text === undefined
        ? Promise.reject(new Error("not found"))
        : Promise.resolve(new TextEncoder().encode(text));
    },
    stat: (): Promise<never> => Promise.reject(new Error("not found")),
  },
  getConfiguration: (section: string) => ({
    get<T>(key: string, fallback: T): T {
      const name = `${section}.${key}`;
      const { workspace, user, defaults } = world.settings;
      return (workspace[name] ?? user[name] ?? defaults[name] ?? fallback) as T;
    },
    inspect(key: string) {
      const name = `${section}.${key}`;
      const { workspace, user, defaults } = world.settings;
      return { key: name, defaultValue: defaults[name], globalValue: user[name], workspaceValue: workspace[name] };
    },
  }),
};

function message(text: string, ...rest: unknown[]): Promise<unknown> {
  world.messages.push(text);
  return Promise.resolve(world.answer(text, rest));
}

export const window = {
  get activeTextEditor(): unknown {
    return world.editor;
  },
  visibleTextEditors: [],
  registerWebviewViewProvider(id: string, provider: unknown): Disposable {
    world.views.set(id, provider);
    return new Disposable(() => world.views.delete(id));
  },
  state: { focused: true },
  onDidChangeWindowState: new EventEmitter<{ focused: boolean }>().event,
  showInformationMessage: message,
  showWarningMessage: message,
  showErrorMessage: message,
  showQuickPick: async (choices: unknown, options: { placeHolder?: string }) =>
    world.answer(options.placeHolder ?? "", (await choices) as unknown[]),
  showWorkspaceFolderPick: (options: { placeHolder?: string }) =>
    Promise.resolve(world.answer(options.placeHolder ?? "", world.folders)),
  showInputBox: (options: { prompt?: string }) => Promise.resolve(world.answer(options.prompt ?? "", [])),
  withProgress({ title }: { title: string }, work: (progress: Progress, token: unknown) => unknown): unknown {
    const cancelling = new CancellationTokenSource();
    const told: string[] = [];
    world.progress.push({ title, told, cancel: () => cancelling.cancel() });
    return work({ report: ({ message: text }) => void told.push(text) }, cancelling.token);
  },
};

const registered = new Map<string, (...rest: unknown[]) => unknown>();

export const commands = {
  registerCommand(command: string, run: (...rest: unknown[]) => unknown): Disposable {
    registered.set(command, run);
    return new Disposable(() => registered.delete(command));
  },
  executeCommand(command: string, ...rest: unknown[]): Promise<unknown> {
    const run = registered.get(command);
    if (run) return Promise.resolve(run(...rest));
    if (command === "setContext") world.context.set(String(rest[0]), rest[1]);
    else world.executed.push(command);
    return Promise.resolve(undefined);
  },
};

export const chat = {
  createChatParticipant(id: string, handler: unknown): Disposable {
    const participant = Object.assign(new Disposable(() => world.participants.delete(id)), { handler });
    world.participants.set(id, participant);
    return participant;
  },
};

export const l10n = {
  t: (text: string, ...values: unknown[]): string =>
    text.replace(/\{(\d+)\}/g, (_, index: string) => String(values[Number(index)])),
};

export class ThemeIcon {
  constructor(readonly id: string) {}
}
export const TreeItem = untested;
export const TreeItemCollapsibleState = { None: 0, Expanded: 2 };
export const ProgressLocation = { Notification: 15 };
export const QuickPickItemKind = { Separator: -1 };
export const version = "1.91.0";

/** Stands for an API that no unit test uses. */
function untested(): never {
  throw new Error("this is not tested here");
}
export const Range = untested;
export const MarkdownString = untested;
export const ThemeColor = untested;
export const StatusBarAlignment = { Left: 1 };

interface UriParts {
  readonly scheme?: string;
  readonly path?: string;
  readonly query?: string;
}

/** A URI of parts, as far as tests look at it. */
function uriOf(parts: UriParts): UriParts & { with(change: UriParts): UriParts } {
  return { ...parts, with: (change) => uriOf({ ...parts, ...change }) };
}

export const Uri = {
  parse: (text: string) => uriOf({ path: text.replace(/^\w+:\/\//, "") }),
  file: (path: string) => uriOf({ scheme: "file", path }),
  from: uriOf,
  joinPath: (base: unknown, ...parts: string[]): string => [String(base), ...parts].join("/"),
};
export const RelativePattern = untested;
export const FileType = { Directory: 2 };
export const DiagnosticSeverity = { Error: 0, Warning: 1 };
export const languages = { getDiagnostics: untested };
export const env = {
  language: "en",
  clipboard: { writeText: (text: string): Promise<void> => Promise.resolve(void world.copied.push(text)) },
};
