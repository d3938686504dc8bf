/** The notes of changes/ as one page: what users can do now, what changed and what was fixed, by area. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface Note {
  /** For messages. */
  readonly file: string;
  readonly kind: string;
  readonly area: string;
  readonly text: string;
}

/** In this order; a note of another kind is a mistake. */
const sections: ReadonlyMap<string, string> = new Map([
  ["change", "Changes that may need something from you"],
  ["feature", "Features"],
  ["improvement", "Improvements"],
  ["fix", "Fixes"],
]);

/** @throws Error that names the file and what it lacks */
export function parseNote(file: string, source: string): Note {
  const [head = "", ...rest] = source.split("\n\n");
  const fields = new Map(
    head.split("\n").map((line) => {
      const at = line.indexOf(": ");
      return [line.slice(0, at), line.slice(at + 2).trim()] as const;
    }),
  );
  const [kind = "", area = ""] = [fields.get("kind"), fields.get("area")];
  if (!sections.has(kind)) throw new Error(`${file}: kind "${kind}" is none of ${[...sections.keys()].join(", ")}`);
  if (area === "") throw new Error(`${file}: no area`);
  const text = rest.join("\n\n").trim();
  if (text === "") throw new Error(`${file}: no text`);
  return { file, kind, area, text };
}

export function readNotes(directory: string): readonly Note[] {
  return globSync("*.md", { cwd: directory })
    .filter((name) => basename(name) !== "README.md")
    .sort()
    .map((name) => parseNote(name, readFileSync(join(directory, name), "utf8")));
}

/** Markdown. Notes of a section are sorted by area, then by file. */
export function changelog(version: string, notes: readonly Note[]): string {
  const parts = [...sections].flatMap(([kind, title]) => {
    const own = notes.filter((note) => note.kind === kind).sort(byArea);
    return own.length === 0 ? [] : [`## ${title}`, ...own.map(entry)];
  });
  return `${[`# Flotilla ${version}`, ...parts].join("\n\n")}\n`;
}

function entry({ area, text }: Note): string {
  const [first = "", ...rest] = text.split("\n");
  return [`- **${area}**: ${first}`, ...rest.map((line) => (line === "" ? line : `  ${line}`))].join("\n");
}

function byArea(one: Note, two: Note): number {
  const [a, b] = [`${one.area}\n${one.file}`, `${two.area}\n${two.file}`];
  return a < b ? -1 : a > b ? 1 : 0;
}
