// The licences of the packages that are in the bundles, as esbuild's records of those tell.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the text that goes with the bundles; a package whose licence is not known is an error. */
export function notices(root, metafiles) {
  const folders = new Set(metafiles.flatMap(packages));
  const named = [...folders].map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    return { title: `${name} ${version}`, text: licences(root, folder, name) };
  });
  named.sort((one, other) => (one.title < other.title ? -1 : 1));
  const rule = "=".repeat(80);
  return [
    "Sandbox Agent has the following packages in it, with thanks to those who wrote them.\n",
    ...named.map(({ title, text }) => `${rule}\n${title}\n\n${text}\n`),
  ].join("\n");
}

/** The folders of the packages of which something is left in the bundles of a record. */
function packages({ outputs }) {
  return Object.values(outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^.*node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
}

function licences(root, folder, name) {
  const files = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => join(root, folder, file));
  const kept = join(root, "licences", `${name}.txt`); // of a package that is published without
  if (files.length === 0 && existsSync(kept)) files.push(kept);
  if (files.length === 0)
    throw new Error(`${folder} has no licence among its files; put its text into licences/${name}.txt`);
  return files.map((file) => readFileSync(file, "utf8").trim()).join("\n\n");
}
