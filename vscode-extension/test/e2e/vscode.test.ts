// The extension in one window of a real VS Code, from a folder that is not trusted yet to what goes wrong.
import { asking } from "./parts/asking.ts";
import { editing } from "./parts/editing.ts";
import { hostile } from "./parts/hostile.ts";
import { looks } from "./parts/looks.ts";
import { moving } from "./parts/moving.ts";
import { reloading } from "./parts/reloading.ts";
import { reviewing } from "./parts/reviewing.ts";
import { trust } from "./parts/trust.ts";
import { suite } from "./harness/suite.ts";

const filler = Array.from({ length: 12 }, (_, i) => `(${i})`).join("\n");
const poem = `roses are red\nviolets are blue\n${filler}\nsugar is sweet\nand so are you\n`;
const it = suite({ "greeting.txt": "first\nhello\nlast\n", "poem.txt": poem });

for (const part of [trust, asking, editing, reviewing, moving, reloading, looks, hostile]) {
  part(it);
}
