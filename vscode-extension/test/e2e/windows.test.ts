// What is around one window: the user's own servers, another window on the same session, what both sides have changed, the ports of
// sandboxes, and a program of another version.
import { breaking } from "./parts/breaking.ts";
import { meeting } from "./parts/meeting.ts";
import { ports } from "./parts/ports.ts";
import { servers } from "./parts/servers.ts";
import { windows } from "./parts/windows.ts";
import { suite } from "./harness/suite.ts";

const it = suite({ "greeting.txt": "first\nhello\nlast\n" });

for (const part of [servers, windows, meeting, ports, breaking]) {
  part(it);
}
