/** Times of the page in a browser: first views, filters, searches. */
import type { Page } from "playwright-core";

export interface Summary {
  readonly medianMs: number;
  readonly longestMs: number;
}

/** Measures several times, one after the other. */
export async function repeated(tries: number, measure: (at: number) => Promise<number>): Promise<Summary> {
  const times: number[] = [];
  for (let at = 0; at < tries; at++) times.push(await measure(at));
  const sorted = times.toSorted((a, b) => a - b);
  return {
    medianMs: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    longestMs: Math.round(sorted.at(-1) ?? 0),
  };
}

/** From the start of the navigation to the first rows. */
export async function firstView(on: Page, url: string): Promise<number> {
  await on.goto(url, { waitUntil: "commit" });
  await on.locator("tbody tr").first().waitFor();
  return on.evaluate<number>("performance.now()");
}

/** From the choice to the rows of the answer; measured in the page. */
export function filtered(on: Page, facet: string, value: string): Promise<number> {
  return on.evaluate<number>(`new Promise((resolve) => {
    const select = document.querySelector("select[aria-label=${facet}]");
    select.value = ${JSON.stringify(value)};
    ${untilAnswered(`select.dispatchEvent(new Event("change", { bubbles: true }))`)}
  })`);
}

/** From the last key to the rows of the answer, with the pause that ends the typing. */
export function searched(on: Page, words: string): Promise<number> {
  return on.evaluate<number>(`new Promise((resolve) => {
    const field = document.querySelector("[data-search]");
    field.value = ${JSON.stringify(words)};
    ${untilAnswered(`field.dispatchEvent(new Event("input", { bubbles: true }))`)}
  })`);
}

/** The first rows belong to the answer when the table has changed and nothing is loading. */
function untilAnswered(start: string): string {
  return `const begun = performance.now();
    let hasChanged = false;
    const observer = new MutationObserver(() => {
      hasChanged ||= document.querySelector(".skeleton, [aria-busy=true]") !== null;
      if (!hasChanged || document.querySelector(".skeleton, [aria-busy=true]") !== null) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - begun));
    });
    observer.observe(document.querySelector("main"), { subtree: true, childList: true, attributes: true, characterData: true });
    ${start};`;
}
