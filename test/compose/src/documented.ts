/** The commands of a section of a page, as a reader would type them. */
import { readFileSync } from "node:fs";

/** Each a line, or several that a backslash joins. */
export function commandsOf(page: string, heading: string): readonly string[] {
  const text = readFileSync(page, "utf8");
  const begin = text.indexOf(`\n## ${heading}\n`);
  if (begin < 0) throw new Error(`${page} has no section ${heading}`);
  const end = text.indexOf("\n## ", begin + 1);
  const section = text.slice(begin, end < 0 ? undefined : end);
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));
}
