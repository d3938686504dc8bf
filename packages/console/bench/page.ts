/**
 * `pnpm bench:console`: how long the page takes with 2,000 services and 1,000 proxies, in the system's Chromium, with the server's part of it being a sample in memory.
 * One JSON line; the median and the longest of several tries, in milliseconds.
 */
import { loadavg } from "node:os";
import type { Page } from "playwright-core";
import { builtPage } from "../src/built-page.ts";
import { launchChromium, openPage, signIn } from "../src/testing/browser.ts";
import { namespaces, sampleMesh } from "../src/testing/sample-mesh.ts";
import { serveSample } from "../src/testing/sample-server.ts";

const tries = 10;
const token = "bench";

await using server = await serveSample({ page: await builtPage(), mesh: sampleMesh(), token });
await using browser = await launchChromium();
await using window = await openPage(browser);
const { page } = window;
await signIn(page, server.url, token);

const views: Record<string, unknown> = {};
for (const path of ["/", "/proxies", "/objects", "/changes"])
  views[path] = summary(await repeated(() => firstView(page, `${server.url}${path}`)));

await page.goto(`${server.url}/proxies`);
await page.locator("tbody tr").first().waitFor();
// Another namespace each time: answers shown before come from the cache.
const filter = summary(await repeated((at) => filtered(page, namespaces[at] ?? "")));
await page.goto(`${server.url}/proxies`);
await page.locator("tbody tr").first().waitFor();
const search = summary(await repeated((at) => searched(page, `v1-0${at}`)));

await page.goto(`${server.url}/topology/shop/web-0.shop.svc.cluster.local`);
await page.locator("canvas.sigma-nodes").waitFor();
const framesPerSecond = await framesWhileDragging(page);

const [load = 0] = loadavg();
process.stdout.write(
  `${JSON.stringify({ bench: "console-page", views, filter, search, framesPerSecond, load: Number(load.toFixed(2)) })}\n`,
);

async function repeated(measure: (at: number) => Promise<number>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let at = 0; at < tries; at++) times.push(await measure(at));
  return times;
}

/** From the start of the navigation to the first rows. */
async function firstView(on: Page, url: string): Promise<number> {
  await on.goto(url, { waitUntil: "commit" });
  await on.locator("tbody tr").first().waitFor();
  return on.evaluate<number>("performance.now()");
}

/** From the choice to the rows of the answer; measured in the page. */
function filtered(on: Page, namespace: string): Promise<number> {
  return on.evaluate<number>(`new Promise((resolve) => {
    const select = document.querySelector("select[aria-label=namespace]");
    select.value = ${JSON.stringify(namespace)};
    ${untilAnswered(`select.dispatchEvent(new Event("change", { bubbles: true }))`)}
  })`);
}

/** From the last key to the rows of the answer, with the pause that ends the typing. */
function searched(on: Page, words: string): Promise<number> {
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

async function framesWhileDragging(on: Page): Promise<number> {
  const box = await on.locator(".graph").boundingBox();
  if (box === null) throw new Error("there is no graph");
  const [x, y] = [box.x + 200, box.y + 150];
  await on.mouse.move(x, y);
  await on.mouse.down();
  await on.evaluate(
    "window.frames_ = 0; window.begun_ = performance.now(); (function count() { frames_++; requestAnimationFrame(count); })()",
  );
  for (let step = 0; step < 120; step++) await on.mouse.move(x + 2 * (step % 60), y + (step % 40));
  await on.mouse.up();
  return on.evaluate<number>("Math.round(frames_ * 1000 / (performance.now() - begun_))");
}

function summary(times: readonly number[]): { readonly medianMs: number; readonly longestMs: number } {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    medianMs: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    longestMs: Math.round(sorted.at(-1) ?? 0),
  };
}
