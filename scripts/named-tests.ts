/**
 * Tests that pages on security name, as `FILE.test.ts`: "words of the test's title" in their tables. Each must be there, as the title of a test
 * or of a case and not anywhere in the file, and on pages that promise a test for every row, no row may be without one.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const directory = "docs/security";
/** Each row of a table with a column of tests names one. */
const promising = ["advisories.md", "limits.md", "model.md"];

/** Problems, each with its page. */
export function namedTestProblems(root: string): readonly string[] {
  const pages = readdirSync(join(root, directory)).filter((name) => name.endsWith(".md"));
  return pages.flatMap((name) => {
    const text = readFileSync(join(root, directory, name), "utf8");
    const missing = namedTests(text).flatMap(({ file, title }) => {
      const path = join(root, file);
      const isThere = existsSync(path) && hasTest(readFileSync(path, "utf8"), title);
      return isThere ? [] : [`${directory}/${name}: ${file} has no test "${title}"`];
    });
    const bare = promising.includes(name) ? rowsWithoutTest(text) : [];
    return [...missing, ...bare.map((row) => `${directory}/${name}: the row "${row}" names no test`)];
  });
}

/** Files and words of titles, in the order of the page. */
export function namedTests(text: string): readonly { readonly file: string; readonly title: string }[] {
  return [...text.matchAll(/`([^`\s]+\.test\.ts)`: "([^"]+)"/g)].map(([, file = "", title = ""]) => ({ file, title }));
}

/** Where a title begins: that of a test, the name of a case, or the first text of a row of cases. */
const titleStart = /(?:\b(?:it|test|describe)\(|\b(?:name|title):|^\s*\[?)\s*["'`]/;
/** One word is found everywhere. */
const minLength = 8;

/** True where a title of a test or case of the file has the words. */
export function hasTest(source: string, title: string): boolean {
  if (title.length < minLength) return false;
  return source.split("\n").some((line) => line.includes(title) && titleStart.test(line));
}

/** The first cells of rows below a head whose last cell is `test`. */
export function rowsWithoutTest(text: string): readonly string[] {
  let promises = false;
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith("|")) promises = false;
    else if (/\| test \|$/.test(line)) promises = true;
    else if (promises && !line.startsWith("|---") && namedTests(line).length === 0) return [line.split("|")[1] ?? ""];
    return [];
  });
}
