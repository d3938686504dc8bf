/**
 * Blocks of commands and of objects on the pages of docs/: a page names the test that runs its blocks, or states why none does. The statement is
 * a comment, for a page before its first block (`<!-- run by TEST -->`, `<!-- not run: REASON -->`), or right above a block of its own.
 */
import { existsSync, readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";

const written = new Set(["sh", "yaml", "json"]);

/** @param exclude pages that are generated, or list what is not for readers to type */
export async function commandBlockProblems(root: string, exclude: ReadonlySet<string>): Promise<readonly string[]> {
  const problems: string[] = [];
  for await (const page of glob("docs/{*,install/*,tasks/*,security/*}.md", { cwd: root })) {
    if (exclude.has(page)) continue;
    problems.push(
      ...problemsOfPage(readFileSync(join(root, page), "utf8"), (path) => existsSync(join(root, path))).map(
        (text) => `${page}: ${text}`,
      ),
    );
  }
  return problems.sort();
}

/** @param exists of a path of the project */
export function problemsOfPage(text: string, exists: (path: string) => boolean): readonly string[] {
  const problems: string[] = [];
  const lines = text.split("\n");
  let isStated = false;
  let isOpen = false;
  lines.forEach((line, i) => {
    const test = /^<!-- run by (\S+) -->$/.exec(line)?.[1];
    if (test !== undefined && !exists(test)) problems.push(`line ${i + 1}: there is no ${test}`);
    const isIndented = !isOpen && /^ {4}\S/.test(line) && lines[i - 1] === "" && !isStated;
    if (isIndented) problems.push(`line ${i + 1}: a block that no test runs, without the reason`);
    if (!line.startsWith("```")) {
      if (test !== undefined || /^<!-- not run: .+ -->$/.test(line)) {
        // One right above a block is of this block alone.
        if (!lines[i + 1]?.startsWith("```")) isStated = true;
      }
      return;
    }
    isOpen = !isOpen;
    if (!isOpen || !written.has(line.slice(3)) || isStated) return;
    if (!/^<!-- (?:run by|not run:) .+ -->$/.test(lines[i - 1] ?? ""))
      problems.push(`line ${i + 1}: a block that no test runs, without the reason`);
  });
  return problems;
}
