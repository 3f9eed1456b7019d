// What the parts of the extension are given.
import type { Disposable, ExtensionContext, LogOutputChannel } from "vscode";
import type { Session } from "../../editors/protocol";
import type { Rpc } from "./client/rpc";
import type { Supervisor } from "./client/supervisor";
import type { Obstacles } from "./obstacles";
import type { Secrets } from "./secrets";
import type { Listing } from "./sessions/listing";
import type { Sessions } from "./sessions/sessions";
import type { Waiting } from "./sessions/waiting";

/** The view of the conversation. */
export interface Conversation extends Disposable {
  readonly visible: boolean;
  /** Shows the view, with that session if one is named. */
  reveal(sessionId?: string): Promise<void>;
  /** Shows the view and puts the cursor into its input, with that text in it if one is given. */
  focusInput(text?: string): Promise<void>;
}

/** Changes, shown and reviewed. */
export interface Review extends Disposable {
  /** Shows what differs between two checkpoints; by default since the begin of the session. */
  showDiff(session: Session, from?: string, to?: string): Promise<void>;
}

/** Made once by activate and handed to everything. */
export interface Ctx {
  readonly extension: ExtensionContext;
  readonly log: LogOutputChannel;
  /** For requests: refuses what needs trust in a folder that is not trusted. */
  readonly rpc: Rpc;
  readonly server: Supervisor;
  readonly sessions: Sessions;
  readonly listing: Listing;
  readonly waiting: Waiting;
  readonly obstacles: Obstacles;
  readonly secrets: Secrets;
  readonly conversation: Conversation;
  readonly review: Review;
}

/** What activate has before it makes the parts that are given all of it. */
export type Base = Omit<Ctx, "conversation" | "review">;
