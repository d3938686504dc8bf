/** The page in a real Chromium, against a server that speaks the contract about a sample mesh of 2,000 services and 1,000 proxies. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { builtPage } from "./built-page.ts";
import {
  accessibilityProblems,
  launchChromium,
  openPage,
  problemsInBothSchemes,
  signIn,
  skipWithoutChromium,
} from "./testing/browser.ts";
import { ago, proxyName, type SampleMesh, sampleMesh } from "./testing/sample-mesh.ts";
import { type SampleServer, serveSample } from "./testing/sample-server.ts";

const token = "sample-token-1f0c6a4bd2";

/** Each screen, with something that only it shows. */
const screens: readonly { readonly path: string; readonly shows: string }[] = [
  { path: "/", shows: "Control plane" },
  { path: "/proxies", shows: "1–50 of 1,000 proxies" },
  { path: `/proxies/${proxyName(3)}`, shows: "Only unique values for domains" },
  {
    path: `/proxies/${proxyName(1)}?show=outbound%7C8080%7C%7Cweb-0.shop.svc.cluster.local`,
    shows: "settings of the mesh",
  },
  { path: `/proxies/${proxyName(1)}?tab=receipts`, shows: "Acknowledged generation" },
  { path: `/proxies/${proxyName(1)}?tab=compare`, shows: "weightedClusters" },
  { path: `/proxies/${proxyName(1)}?tab=facts`, shows: "INTERCEPTION_MODE" },
  { path: `/proxies/${proxyName(1)}?tab=stats&q=upstream_rq_total`, shows: "1–50 of 300 statistics" },
  { path: "/objects", shows: "1–50 of 1,500 objects" },
  { path: "/objects/VirtualService/shop/checkout", shows: "in effect on 4 of 12 proxies" },
  { path: "/objects/VirtualService/shop/checkout?tab=history", shows: "weight: 90" },
  { path: "/objects/VirtualService/shop/checkout?tab=resources", shows: "1–50 of 120 resources" },
  { path: "/objects/VirtualService/shop/checkout?tab=edit", shows: "Changes are checked while you type" },
  { path: "/objects/new", shows: "Changes are checked while you type" },
  { path: "/changes", shows: "16 waiting" },
  { path: "/changes/compare?from=4180&to=4182", shows: "the content of a Secret is not shown" },
  { path: "/rejections", shows: "RouteConfiguration.virtual_hosts" },
  { path: "/topology", shows: "10 namespaces" },
  { path: "/topology/shop", shows: "billing-1060.shop.svc.cluster.local" },
  { path: "/topology/shop/web-0.shop.svc.cluster.local", shows: "4,096 connections, 2 subsets" },
  { path: "/topology/-/request", shows: "Name a proxy and a host." },
  { path: `/topology/-/request?from=${proxyName(1)}&host=checkout`, shows: "Refused by the DENY policy" },
  { path: "/certificates", shows: "has not acknowledged the new root" },
  { path: "/settings", shows: "DEBOUNCE_AFTER" },
  { path: "/nowhere", shows: "There is no screen at" },
];

describe("the page", { skip: skipWithoutChromium }, () => {
  const stack = new AsyncDisposableStack();
  let [browser, server, mesh]: [Browser?, SampleServer?, SampleMesh?] = [];
  before(async () => {
    mesh = sampleMesh();
    server = stack.use(await serveSample({ page: await builtPage(), mesh, token }));
    browser = stack.use(await launchChromium());
  });
  after(() => stack.disposeAsync());
  const parts = () => {
    if (browser === undefined || server === undefined || mesh === undefined) throw new Error("not started");
    return { browser, server, mesh };
  };

  it("signs in with a token that it keeps nowhere, and out again", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page, context, faults } = window;
    await page.goto(`${server.url}/proxies?q=web`);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("the token is not valid").waitFor();
    await signIn(page, `${server.url}/proxies?q=web`, token);
    assert.equal(new URL(page.url()).search, "?q=web", "the screen that was asked for");
    const kept = await page.evaluate(
      "JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, document.cookie, document.body.outerHTML])",
    );
    assert.doesNotMatch(String(kept), new RegExp(token));
    assert.equal(
      (await context.cookies()).every(({ httpOnly, sameSite }) => httpOnly && sameSite === "Strict"),
      true,
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.reload();
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(faults, []);
  });

  it("opens each screen by its address: axe-core finds nothing in light and dark, the policy is kept, and it fits a telephone", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser, { scheme: "dark" });
    const { page, faults } = window;
    await page.goto(server.url);
    await page.getByLabel("Token").waitFor();
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark", "the system's scheme");
    assert.deepEqual(await problemsInBothSchemes(page), []);
    await signIn(page, server.url, token);
    for (const { path, shows } of screens) {
      await page.goto(`${server.url}${path}`);
      await page.getByText(shows).first().waitFor();
      assert.deepEqual(await problemsInBothSchemes(page), [], path);
      // Nothing is wider than the window but tables, which scroll by themselves.
      await page.setViewportSize({ width: 390, height: 800 });
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390, path);
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    assert.deepEqual(faults, []);
  });

  it("runs no script of its text, applies no style of it, and sends nothing elsewhere", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, server.url, token);
    await page.evaluate(`for (const [tag, text] of [["script", "window.injected = true"], ["style", "body { display: none }"]]) {
      const element = document.createElement(tag);
      element.textContent = text;
      document.head.append(element);
    }`);
    assert.equal(await page.evaluate("window.injected"), undefined);
    assert.notEqual(await page.evaluate("getComputedStyle(document.body).display"), "none");
    // Another port of this host is another origin.
    await using other = await serveSample({ page: await builtPage(), mesh: sampleMesh(), token });
    const refused = `fetch(${JSON.stringify(other.url)}, { mode: "no-cors" }).then(() => "sent", () => "refused")`;
    assert.equal(await page.evaluate(refused), "refused");
    assert.deepEqual(other.asked, []);
    for (const what of ["script-src 'self'", "style-src 'self'", "connect-src 'self'"])
      assert.ok(
        faults.some((fault) => fault.includes("Content Security Policy") && fault.includes(what)),
        `${what}: ${faults.join()}`,
      );
  });

  it("has the server search, filter, sort and page, and the back button bring each state back", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${server.url}/proxies`, token);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–100 of 1,000").waitFor();
    await page.getByLabel("state", { exact: true }).selectOption("rejected");
    await page.getByText("11 proxies (1,000 in all)").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("shop");
    await page.getByText(/^[1-9] (proxy|proxies) \(1,000 in all\)/).waitFor();
    assert.match(page.url(), /\/proxies\?q=shop&state=rejected$/);
    assert.ok(server.asked.some((question) => /search=shop.*state=rejected/.test(question)));
    await page.goBack();
    await page.getByText("51–100 of 1,000").waitFor();
    await page.goBack();
    await page.getByText("1–50 of 1,000").waitFor();
  });

  it("is used by keys alone", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${server.url}/proxies?sort=-connectedAt`, token);
    await page.getByRole("table").waitFor();
    const links = page.locator("tbody th a");
    for (const key of ["j", "j", "ArrowDown", "k"]) await page.keyboard.press(key);
    const second = await links.nth(1).textContent();
    assert.equal(await page.evaluate("document.activeElement.textContent"), second);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: second ?? "" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1, name: "Proxies" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").isVisible(), false);
  });

  it("asks for the way of a request by keys alone, with its state in the address", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, `${server.url}/topology/-/request`, token);
    await page.getByText("Name a proxy and a host.").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type(proxyName(1));
    for (const text of ["", "", "checkout", "8080", "/cart?a=b", "", "x-canary: yes"]) {
      await page.keyboard.press("Tab");
      if (text !== "") await page.keyboard.type(text);
    }
    await page.getByLabel("Path").press("Enter");
    await page.getByText("Unless decided otherwise by filter shop.limits at checkout-v1.shop.").waitFor();
    const asked = { from: proxyName(1), host: "checkout", port: "8080", path: "/cart?a=b", headers: "x-canary: yes" };
    assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), asked);
    await page.reload();
    await page.locator(".outcome", { hasText: "10 %" }).getByText("refused", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Headers, one a line").inputValue(), "x-canary: yes");
    await page.getByRole("link", { name: "AuthorizationPolicy/shop/no-admin" }).waitFor();
    await page.goBack();
    await page.getByText("Name a proxy and a host.").waitFor();
    assert.equal(await page.getByLabel("Host", { exact: true }).inputValue(), "");
    assert.deepEqual(faults, []);
  });

  it("shows what changes without being loaded again", async () => {
    const { browser, server, mesh } = parts();
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, server.url, token);
    await page.getByText("4,182").first().waitFor();
    await page.evaluate("window.isTheSame = true");
    mesh.generation++;
    server.publish("generation", { generation: mesh.generation, at: ago(0), by: "test", changes: 1, objects: [] });
    await page.getByText("4,183").first().waitFor();
    assert.equal(await page.evaluate("window.isTheSame"), true);
  });

  it("checks an object while it is edited, shows what would change, applies it and watches it arrive", async () => {
    const { browser, server, mesh } = parts();
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, `${server.url}/objects/VirtualService/shop/checkout?tab=edit`, token);
    const field = page.getByLabel("Manifest");
    const text = await field.inputValue();
    await field.fill(text.replace("weight: 90", "weight: 40"));
    await page.locator(".annotation", { hasText: "weights sum up to 50, not 100" }).waitFor();
    await page.getByText("line 14").waitFor();
    assert.equal(await page.getByRole("button", { name: "Apply" }).isDisabled(), true);
    assert.deepEqual(await accessibilityProblems(page), []);
    await field.fill(text.replace("weight: 90", "weight: 80"));
    await page.getByText("Valid. Apply would change").waitFor();
    await page.getByText("a subset is used nowhere").waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied.").waitFor();
    const at = mesh.objects.findIndex(({ object }) => object === "VirtualService/shop/checkout");
    const row = mesh.objects[at];
    assert.ok(row !== undefined);
    mesh.objects[at] = { ...row, state: "live", live: row.concerned };
    server.publish("objects", { open: [], settled: [row.object] });
    await page.getByText("12 / 12").first().waitFor();
    mesh.objects[at] = row;
    assert.deepEqual(faults, []);
  });

  it("suggests fields and values by keys alone: a screen reader is given the list, and it fits a telephone", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page, faults } = window;
    const scripts: string[] = [];
    page.on("request", (request) => scripts.push(new URL(request.url()).pathname));
    await signIn(page, `${server.url}/objects/VirtualService/shop/checkout?tab=edit`, token);
    const field = page.getByLabel("Manifest");
    await field.waitFor();
    const isLoaded = () => scripts.some((path) => path.includes("completer"));
    assert.equal(isLoaded(), false);
    await field.focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Enter");
    await page.keyboard.type("  load");
    const list = page.getByRole("listbox", { name: "Suggestions" });
    await list.getByRole("option", { name: "loadBalancer" }).waitFor();
    assert.equal(isLoaded(), true);
    await page.getByText("simple or consistentHash, not both.").waitFor();
    assert.deepEqual(await problemsInBothSchemes(page), []);
    await page.setViewportSize({ width: 390, height: 800 });
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
    await page.keyboard.press("Enter");
    await page.keyboard.type("s");
    await list.getByRole("option", { name: "simple" }).waitFor();
    await page.keyboard.press("Tab");
    const random = list.getByRole("option", { name: "RANDOM" });
    await random.waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await random.getAttribute("aria-selected"), "true");
    assert.equal(await field.getAttribute("aria-activedescendant"), await random.getAttribute("id"));
    await page.keyboard.press("Enter");
    assert.match(await field.inputValue(), /\n {2}loadBalancer:\n {4}simple: RANDOM$/);
    await page.keyboard.press("Control+Space");
    assert.equal(await list.count(), 0, "the only value that fits is there already");
    await page.keyboard.press("Enter");
    await page.keyboard.type("  t");
    await list.waitFor();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "detached" });
    assert.equal(await page.evaluate("document.activeElement.tagName"), "TEXTAREA", "Escape closes the list alone");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate("document.activeElement.tagName"), "BODY");
    assert.deepEqual(faults, []);
  });

  it("offers nothing to write to those who may only read", async () => {
    const { browser, mesh } = parts();
    await using server = await serveSample({ page: await builtPage(), mesh, token, mayWrite: false });
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${server.url}/objects/VirtualService/shop/checkout`, token);
    await page.getByRole("link", { name: "History" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Edit" }).count(), 0);
    await page.goto(`${server.url}/settings`);
    assert.equal(await page.getByLabel("Level of push").isDisabled(), true);
    await page.goto(`${server.url}/objects/new`);
    await page.getByText("Your token may read only").waitFor();
  });

  it("draws a service and 100 neighbours, with code that is loaded then", async () => {
    const { browser, server } = parts();
    await using window = await openPage(browser);
    const { page, faults } = window;
    const scripts: string[] = [];
    page.on("request", (request) => scripts.push(new URL(request.url()).pathname));
    await signIn(page, `${server.url}/topology/shop`, token);
    assert.equal(
      scripts.some((path) => path.includes("draw-neighbours")),
      false,
    );
    await page.getByRole("link", { name: "billing-1060.shop.svc.cluster.local" }).click();
    await page.locator(".graph canvas.sigma-nodes").waitFor();
    assert.equal(
      scripts.some((path) => path.includes("draw-neighbours")),
      true,
    );
    await page.getByText("Ways: 100").waitFor();
    assert.equal(await page.getByText("The drawing is not shown").count(), 0);
    assert.deepEqual(faults, []);
  });

  it("keeps what it knows while the control plane is away, and goes on when it is back", async () => {
    const { browser, server, mesh } = parts();
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, server.url, token);
    await page.getByText("Control plane", { exact: true }).waitFor();
    server.setAvailable(false);
    await page.getByText("Control plane unreachable").waitFor();
    await page.getByText("config-controller gives no answer").waitFor();
    await page.getByText("The last known state is shown").waitFor();
    assert.equal(await page.getByText("xds-server-1").first().isVisible(), true);
    mesh.generation += 10;
    server.setAvailable(true);
    await page.getByText("Live").waitFor();
    await page
      .getByText((4182 + (mesh.generation - 4182)).toLocaleString("en"))
      .first()
      .waitFor();
    assert.equal(await page.getByText("Control plane unreachable").count(), 0);
  });
});
