/** The commands of a page, as a reader would type them. */
import { readFileSync } from "node:fs";

/** Each a line, or several that a backslash joins. */
export function commandsOf(page: string): readonly string[] {
  const blocks = [...readFileSync(page, "utf8").matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));
}
