/** Looks for what keeps people from using a page, by axe-core in the page itself. */
import { readFile } from "node:fs/promises";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** `rule: what to do: elements`, one for each violation of the page as it is shown now. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  const source = await readFile(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
  // Not as a script of the page: its policy allows none but its own.
  await page.evaluate(source);
  const results = await page.evaluate<AxeResults>("axe.run(document)");
  return results.violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
  );
}
