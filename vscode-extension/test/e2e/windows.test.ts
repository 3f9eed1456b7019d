// What is around one window: the user's own servers, another window on the same session, what both sides have changed, the ports of
// sandboxes, programs that do not work, and several folders.
import { breaking } from "./parts/breaking.ts";
import { comingBack, meeting } from "./parts/meeting.ts";
import { ports } from "./parts/ports.ts";
import { servers } from "./parts/servers.ts";
import { roots, windows } from "./parts/windows.ts";
import { StandIn } from "./harness/standin.ts";
import { suite } from "./harness/suite.ts";

const program = new StandIn();
const it = suite({ "greeting.txt": "first\nhello\nlast\n" }, { program: (at) => program.install(at) });

for (const part of [servers, windows, meeting, ports, comingBack]) {
  part(it);
}
breaking(it, program);
roots(it);
