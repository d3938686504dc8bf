/** Each screen in a real Chromium while its data is loading, when it cannot be had, and where there is none. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import { builtPage } from "./built-page.ts";
import { accessibilityProblems, launchChromium, openPage, signIn, skipWithoutChromium } from "./testing/browser.ts";
import { proxyName, sampleMesh } from "./testing/sample-mesh.ts";
import { type SampleServer, serveSample } from "./testing/sample-server.ts";

const token = "sample-token-1f0c6a4bd2";
const proxy = `/proxies/${proxyName(1)}`;
const object = "/objects/VirtualService/shop/checkout";

/** Every screen, and every tab that reads something of its own. */
const screens: readonly string[] = [
  ...["/", "/proxies", proxy, "/objects", "/objects/new", object, "/changes", "/changes/compare?from=1&to=2"],
  ...["/rejections", "/topology", "/topology/shop", "/topology/shop/web-0.shop.svc.cluster.local"],
  ...["/certificates", "/settings", `/topology/-/request?from=${proxyName(1)}&host=checkout`],
];
const tabs: readonly string[] = [
  ...[`${proxy}?tab=compare`, `${proxy}?tab=stats`, `${object}?tab=history`, `${object}?tab=resources`],
];

/** Lists without rows, in words that lead on. */
const empty: readonly { readonly path: string; readonly words: string }[] = [
  { path: "/", words: "No proxy is connected." },
  { path: "/proxies", words: "No proxy is connected." },
  { path: "/proxies?q=nothing-has-this", words: "No proxy is connected." },
  { path: "/objects", words: "There are no objects yet." },
  { path: "/changes", words: "Nothing has changed yet." },
  { path: "/changes/compare", words: "Enter two generations." },
  { path: "/rejections", words: "No proxy rejects anything." },
  { path: "/topology", words: "There are no services yet." },
  { path: "/topology/shop", words: "No service matches." },
];

/** The rows are there, but none matches. */
const unmatched: readonly { readonly path: string; readonly words: string }[] = [
  { path: "/proxies?q=nothing-has-this", words: "No proxy matches the search and the filters." },
  { path: "/objects?q=nothing-has-this", words: "No object matches the search and the filters." },
  { path: "/changes?q=nothing-has-this", words: "No change matches the search." },
  { path: "/rejections?q=nothing-has-this", words: "No rejection matches the search and the filters." },
  { path: "/topology?q=nothing-has-this", words: "No namespace matches the search." },
  { path: `${proxy}?q=nothing-has-this`, words: "No resource matches the search." },
  { path: `${proxy}?tab=stats&q=nothing-has-this`, words: "No statistic matches the search." },
  { path: "/settings?q=nothing-has-this", words: "No setting matches the search." },
];

/** Answers everything but the session and the events in the same way. */
async function answerAll(page: Page, answer: (route: Route) => Promise<void>): Promise<void> {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.route("**/api/v1/**", (route) =>
    /\/api\/v1\/(?:session|events)$/.test(route.request().url()) ? route.continue() : answer(route),
  );
}

const refuseWith = (status: number, code: string, message: string) => (route: Route) =>
  route.fulfill({ status, contentType: "application/json", body: JSON.stringify({ error: { code, message } }) });

describe("states of the screens", { skip: skipWithoutChromium }, () => {
  const stack = new AsyncDisposableStack();
  let [browser, server]: [Browser?, SampleServer?] = [];
  before(async () => {
    server = stack.use(await serveSample({ page: await builtPage(), mesh: sampleMesh(), token }));
    browser = stack.use(await launchChromium());
  });
  after(() => stack.disposeAsync());
  const open = async () => {
    if (browser === undefined || server === undefined) throw new Error("not started");
    const window = await openPage(browser);
    await signIn(window.page, server.url, token);
    const { url } = server;
    return { ...window, url, browser, show: (path: string) => window.page.goto(`${url}${path}`) };
  };

  it("loading: each screen shows that it loads", async () => {
    await using window = await open();
    const { page, show, faults } = window;
    await answerAll(page, () => new Promise<void>(() => {}));
    for (const path of screens) {
      await show(path);
      await page
        .getByRole("status")
        .filter({ hasText: /^Loading / })
        .first()
        .waitFor();
      assert.deepEqual(await accessibilityProblems(page), [], path);
    }
    assert.deepEqual(faults, []);
  });

  const failures = [
    {
      name: "control plane away",
      status: 503,
      code: "away",
      message: "xds-server does not answer",
      title: "Control plane unreachable",
    },
    { name: "refused", status: 403, code: "forbidden", message: "not for this account", title: "Refused" },
    { name: "failed", status: 500, code: "upstream", message: "internal error", title: "Failed" },
  ] as const;
  for (const { name, status, code, message, title } of failures)
    it(`${name}: each screen shows the reason, and offers to try again`, async () => {
      await using window = await open();
      const { page, show, faults } = window;
      await answerAll(page, refuseWith(status, code, message));
      for (const path of screens) {
        await show(path);
        const alert = page.getByRole("alert").first();
        await alert.filter({ hasText: title }).filter({ hasText: message }).waitFor();
        assert.equal(await alert.getByRole("button", { name: "Try again" }).isVisible(), true, path);
        assert.deepEqual(await accessibilityProblems(page), [], path);
      }
      assert.deepEqual(faults, []);
    });

  it("a tab whose own data cannot be had shows the reason below the rest, and has it after another try", async () => {
    await using window = await open();
    const { page, show } = window;
    for (const path of tabs) {
      const own =
        new URL(path, "http://console").searchParams.get("tab") === "compare" ? "diff" : /tab=(\w+)/.exec(path)?.[1];
      // It fails until somebody tries again: the page reads by itself, too, once its stream of events has begun.
      const refuse = refuseWith(502, "upstream", "the replica failed");
      const answer = async (route: Route): Promise<void> =>
        (await page.evaluate("window.hasTried === true")) ? route.continue() : refuse(route);
      for (const pattern of [`**/${own}?**`, `**/${own}`]) await page.route(pattern, answer);
      await show(path);
      await page.getByText("the replica failed").waitFor();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.evaluate("addEventListener('click', () => { window.hasTried = true; }, { capture: true })");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("the replica failed").waitFor({ state: "detached" });
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
  });

  it("empty: lists without rows, and searches without a match, have words of their own", async () => {
    await using window = await open();
    const { page, show } = window;
    for (const { path, words } of unmatched) {
      await show(path);
      await page.getByText(words).first().waitFor();
    }
    const mesh = sampleMesh();
    for (const rows of [mesh.proxies, mesh.objects, mesh.services, mesh.rejections, mesh.changes]) rows.length = 0;
    await using bare = await serveSample({ page: await builtPage(), mesh, token });
    // Cookies hold for every port of a host: a person of its own signs in.
    await using other = await openPage(window.browser);
    await signIn(other.page, bare.url, token);
    for (const { path, words } of empty) {
      await other.page.goto(`${bare.url}${path}`);
      await other.page.getByText(words).first().waitFor();
      assert.deepEqual(await accessibilityProblems(other.page), [], path);
    }
  });
});
