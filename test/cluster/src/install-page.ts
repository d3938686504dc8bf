/** The commands of the pages of docs/install and of docs/operations.md, section by section, run as they stand there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./process.ts";

export const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** Each is a chapter, whose title begins the names of its sections. */
const chapters = [
  "kubernetes",
  "beside-istiod",
  "takeover",
  "high-availability",
  "helm",
  "revision-tags",
  "ambient",
].map((name) => `docs/install/${name}.md`);
const operations = "docs/operations.md";
const executed = new Set<string>();

/** Runs every block of a section (`Kubernetes/Install`, or `Back-up` of the operations). @throws ProcessError with what it wrote */
export async function runSection(section: string, cwd = repository): Promise<string> {
  executed.add(section);
  const blocks = allSections().get(section);
  if (blocks === undefined) throw new Error(`no page has commands under ${section}`);
  let output = "";
  for (const block of blocks) output += await run("bash", ["-euo", "pipefail", "-c", block], { cwd });
  return output;
}

/** Sections that were not run, of those that `isMeant`. */
export function notExecuted(isMeant: (section: string) => boolean): readonly string[] {
  return [...allSections().keys()].filter((section) => isMeant(section) && !executed.has(section));
}

function allSections(): ReadonlyMap<string, readonly string[]> {
  const text = (page: string) => readFileSync(join(repository, page), "utf8");
  return new Map([
    ...chapters.flatMap((page) => [...sections(text(page), (chapter, section) => `${chapter}/${section}`)]),
    ...sections(text(operations), (_, section) => section),
  ]);
}

/** The blocks of commands (```sh) of each section of the second level. */
function sections(
  page: string,
  nameOf: (chapter: string, section: string) => string,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  let chapter = "";
  let section = "";
  let block: string[] | undefined;
  for (const line of page.split("\n")) {
    if (block !== undefined && line === "```") {
      found.set(section, [...(found.get(section) ?? []), block.join("\n")]);
      block = undefined;
    } else if (block !== undefined) block.push(line);
    else if (line === "```sh") block = [];
    else if (line.startsWith("# ")) chapter = line.slice(2);
    else if (line.startsWith("## ")) section = nameOf(chapter, line.slice(3));
  }
  return found;
}
