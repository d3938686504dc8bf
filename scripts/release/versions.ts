/** The one version of a release: where it stands in the repository, what disagrees, and how it is changed everywhere. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How a kind of file has the version: the first group is what stands before it. */
interface Place {
  readonly files: RegExp;
  readonly pattern: RegExp;
}

const version = String.raw`(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)`;
const places: readonly Place[] = [
  { files: /(^|\/)package\.json$/, pattern: new RegExp(`^(  "version": ")${version}`, "m") },
  { files: /^k8s\/chart\/Chart\.yaml$/, pattern: new RegExp(`^((?:appV|v)ersion: )${version}`, "gm") },
  {
    files: /^k8s\/(base|components\/console)\/kustomization\.yaml$/,
    pattern: new RegExp(`(name: flotilla, newTag: )${version}`),
  },
  { files: /^docker-compose\.yml$/, pattern: new RegExp(`(image: flotilla:)${version}`, "g") },
  { files: /^docs\/install\.md$/, pattern: new RegExp(`( flotilla:)${version}`, "g") },
];

export const versionForm = new RegExp(`^${version}$`);

/** `files`: those of the repository, below `root`. Each that names another version than the command line, with that one. */
export function versionProblems(root: string, files: readonly string[], wanted: string): readonly string[] {
  return files.flatMap((file) =>
    versionsIn(root, file).flatMap((found) =>
      found === wanted ? [] : [`${file} has version ${found}, not ${wanted}`],
    ),
  );
}

/** Resolves to the files that were changed. */
export function setVersion(root: string, files: readonly string[], next: string): readonly string[] {
  return files.filter((file) => {
    const place = placeOf(file);
    if (place === undefined) return false;
    const text = readFileSync(join(root, file), "utf8");
    const changed = text.replace(place.pattern, (_, before: string) => `${before}${next}`);
    if (changed !== text) writeFileSync(join(root, file), changed);
    return changed !== text;
  });
}

function versionsIn(root: string, file: string): readonly string[] {
  const place = placeOf(file);
  if (place === undefined) return [];
  const flags = place.pattern.flags.includes("g") ? place.pattern.flags : `${place.pattern.flags}g`;
  const all = readFileSync(join(root, file), "utf8").matchAll(new RegExp(place.pattern.source, flags));
  return [...all].flatMap(([, , found]) => found ?? []);
}

function placeOf(file: string): Place | undefined {
  return places.find(({ files }) => files.test(file));
}
