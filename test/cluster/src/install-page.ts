/** The commands of docs/install.md and docs/operations.md, section by section, run as they stand there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./process.ts";

export const repository = fileURLToPath(new URL("../../..", import.meta.url));

const pages = ["docs/install.md", "docs/operations.md"];
const executed = new Set<string>();

/** Runs every block of a section (`Kubernetes/Install`, or `Back-up` without a lower heading). @throws ProcessError with what it wrote */
export async function runSection(section: string, cwd = repository): Promise<string> {
  executed.add(section);
  const blocks = allSections().get(section);
  if (blocks === undefined) throw new Error(`${pages.join(" and ")} have no commands under ${section}`);
  let output = "";
  for (const block of blocks) output += await run("bash", ["-euo", "pipefail", "-c", block], { cwd });
  return output;
}

/** Sections that were not run, of those that `isMeant`. */
export function notExecuted(isMeant: (section: string) => boolean): readonly string[] {
  return [...allSections().keys()].filter((section) => isMeant(section) && !executed.has(section));
}

function allSections(): ReadonlyMap<string, readonly string[]> {
  return new Map(pages.flatMap((page) => [...sections(readFileSync(join(repository, page), "utf8"))]));
}

/** The blocks of commands (```sh) of each section of the second and third level. */
function sections(page: string): ReadonlyMap<string, readonly string[]> {
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
    else if (line.startsWith("### ")) section = `${chapter}/${line.slice(4)}`;
    else if (line.startsWith("## ")) {
      chapter = line.slice(3);
      section = chapter;
    }
  }
  return found;
}
