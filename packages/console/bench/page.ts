/**
 * `pnpm bench:console` (first half): how long the page takes with 2,000 services and 1,000 proxies, in the system's Chromium, with the server's part of it being a sample in memory.
 * One JSON line; the median and the longest of several tries, in milliseconds.
 */
import { loadavg } from "node:os";
import type { Page } from "playwright-core";
import { builtPage } from "../src/built-page.ts";
import { launchChromium, openPage, signIn } from "../src/testing/browser.ts";
import { filtered, firstView, repeated, searched } from "../src/testing/measure.ts";
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
  views[path] = await repeated(tries, () => firstView(page, `${server.url}${path}`));

await page.goto(`${server.url}/proxies`);
await page.locator("tbody tr").first().waitFor();
// Another namespace each time: answers shown before come from the cache.
const filter = await repeated(tries, (at) => filtered(page, "namespace", namespaces[at] ?? ""));
await page.goto(`${server.url}/proxies`);
await page.locator("tbody tr").first().waitFor();
const search = await repeated(tries, (at) => searched(page, `v1-0${at}`));

await page.goto(`${server.url}/topology/shop/web-0.shop.svc.cluster.local`);
await page.locator("canvas.sigma-nodes").waitFor();
const framesPerSecond = await framesWhileDragging(page);

const [load = 0] = loadavg();
process.stdout.write(
  `${JSON.stringify({ bench: "console-page", views, filter, search, framesPerSecond, load: Number(load.toFixed(2)) })}\n`,
);

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
