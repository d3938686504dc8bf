/**
 * The console in a real Chromium before a real control plane (`flotilla serve`) with a real Envoy: each screen, what changes while one looks at it, who
 * rejects it, and services that die. Screenshots of each screen are kept in CONSOLE_SCREENSHOTS, or node_modules/.cache/console-screenshots.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import {
  type ChromiumBrowser,
  launchChromium,
  openPage,
  problemsInBothSchemes,
  signIn,
  skipWithoutChromium,
} from "@flotilla/console/testing";
import { envoyBootstrap, startEnvoy } from "@flotilla/dataplane";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { recordAdminAddress } from "@flotilla/runtime";
import { findServer } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { type Launched, launch, program, root } from "./local/flotilla.ts";

const screenshots = process.env["CONSOLE_SCREENSHOTS"] ?? join(root, "node_modules/.cache/console-screenshots");

const objects = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: { name: web, namespace: shop }
spec:
  hosts: [web.example]
  ports: [{ number: 80, name: http, protocol: HTTP }]
  resolution: STATIC
  endpoints: [{ address: 10.1.1.1, labels: { version: v1 } }, { address: 10.1.1.2, labels: { version: v2 } }]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: web, namespace: shop }
spec:
  host: web.example
  trafficPolicy: { connectionPool: { tcp: { maxConnections: 100 } } }
  subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [web.example]
  http:
  - timeout: 1s
    route:
    - { destination: { host: web.example, subset: v1 }, weight: 90 }
    - { destination: { host: web.example, subset: v2 }, weight: 10 }
`;

/** A service with a canary, whose workload refuses a path. */
const reviews = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: { name: reviews, namespace: shop }
spec:
  hosts: [reviews.example]
  location: MESH_INTERNAL
  ports: [{ number: 80, name: http, protocol: HTTP, targetPort: 8080 }]
  resolution: STATIC
  endpoints:
  - { address: 127.0.0.2, labels: { app: reviews, version: v1, security.istio.io/tlsMode: istio } }
  - { address: 127.0.0.3, labels: { app: reviews, version: v2 } }
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: reviews, namespace: shop }
spec:
  host: reviews.example
  subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: reviews, namespace: shop }
spec:
  hosts: [reviews.example]
  http:
  - name: canary
    match: [{ headers: { x-canary: { exact: "yes" } } }]
    timeout: 4s
    route:
    - { destination: { host: reviews.example, subset: v1 }, weight: 90 }
    - { destination: { host: reviews.example, subset: v2 }, weight: 10 }
  - route: [{ destination: { host: reviews.example, subset: v1 } }]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: no-admin, namespace: shop }
spec:
  selector: { matchLabels: { app: reviews } }
  action: DENY
  rules: [{ from: [{ source: { principals: [cluster.local/ns/shop/sa/e] } }], to: [{ operation: { paths: [/admin*] } }] }]
`;

/** The DestinationRule alone: the editor's test makes the VirtualService the console's own. */
const ruleWith = (maxConnections: number): string =>
  (objects.split("---\n")[1] ?? "").replace("maxConnections: 100", `maxConnections: ${maxConnections}`);

/** Envoy refuses a timeout of 0s; validation does not check what a patch leads to. */
const rejectedPatch = `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: web, namespace: shop }
spec:
  configPatches:
  - applyTo: CLUSTER
    match: { context: SIDECAR_OUTBOUND, cluster: { service: web.example } }
    patch: { operation: MERGE, value: { connect_timeout: 0s } }
`;

/** Each screen, with something that only it shows of this mesh. */
const screens: readonly { readonly name: string; readonly path: string; readonly shows: string }[] = [
  { name: "overview", path: "/", shows: "proxies connected" },
  { name: "proxies", path: "/proxies", shows: "envoy.shop" },
  { name: "proxy", path: "/proxies/envoy.shop?type=cds", shows: "outbound|80||web.example" },
  {
    name: "resource",
    path: "/proxies/envoy.shop?type=cds&show=outbound%7C80%7C%7Cweb.example",
    shows: "Acknowledged with",
  },
  { name: "receipts", path: "/proxies/envoy.shop?tab=receipts", shows: "Acknowledged generation" },
  { name: "stats", path: "/proxies/envoy.shop?tab=stats&q=server_uptime", shows: "server_uptime" },
  { name: "objects", path: "/objects", shows: "VirtualService/shop/web" },
  { name: "object", path: "/objects/DestinationRule/shop/web", shows: "maxConnections: 100" },
  { name: "history", path: "/objects/DestinationRule/shop/web?tab=history", shows: "istio-system/flotilla-admin" },
  { name: "resources", path: "/objects/DestinationRule/shop/web?tab=resources", shows: "outbound|80||web.example" },
  { name: "editor", path: "/objects/DestinationRule/shop/web?tab=edit", shows: "Changes are checked while you type" },
  { name: "changes", path: "/changes", shows: "istio-system/flotilla-admin" },
  { name: "rejections", path: "/rejections", shows: "No proxy rejects anything." },
  { name: "namespaces", path: "/topology", shows: "shop" },
  { name: "neighbours", path: "/topology/shop/web.example", shows: "Ways:" },
  {
    name: "request-way",
    path: "/topology/-/request?from=envoy.shop&host=reviews.example&path=%2Fadmin&headers=x-canary%3A+yes",
    shows: "403: Refused by the DENY policy",
  },
  { name: "certificates", path: "/certificates", shows: "is trusted" },
  { name: "settings", path: "/settings", shows: "LOG_LEVEL" },
];

/** Has clusters and listeners without redirection, and acknowledges them. */
function connectProxy(xdsPort: number, name: string): AsyncDisposable {
  const stop = new AbortController();
  const metadata = {
    ...{ NAMESPACE: "shop", LABELS: { app: name }, INSTANCE_IPS: "127.0.1.11", CLUSTER_ID: "Kubernetes" },
    INTERCEPTION_MODE: "NONE",
  };
  const client = new XdsClient({
    form: "delta",
    transport: grpcTransport({ address: `127.0.0.1:${xdsPort}` }),
    node: create(NodeSchema, { id: `sidecar~127.0.1.11~${name}.shop~shop.svc.cluster.local`, metadata }),
    backoffMs: () => 200,
  });
  client.subscribe(typeUrl.cluster);
  client.subscribe(typeUrl.listener);
  const running = client.run(stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

describe("the console's page", { skip: skipWithoutChromium, timeout: 400_000 }, () => {
  const owned = new AsyncDisposableStack();
  let started: {
    readonly plane: Launched;
    readonly browser: ChromiumBrowser;
    readonly url: string;
    readonly token: string;
  };

  const flotilla = (...args: readonly string[]): string => {
    const { workDir } = started.plane;
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args, "--work-dir", workDir], {
      encoding: "utf8",
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    return stdout;
  };
  const apply = (yaml: string): void => {
    const file = join(started.plane.workDir, "objects.yaml");
    writeFileSync(file, yaml);
    flotilla("apply", "-f", file);
  };

  const startProxy = async (name: "envoy" | "reviews", address: string): Promise<void> => {
    const { plane } = started;
    const labels = { app: name, version: "v1" };
    // As in a pod; nothing is redirected here, since no request is sent.
    const interception = "REDIRECT";
    const node = { name, namespace: "shop", serviceAccount: name.slice(0, 1), labels, address, interception } as const;
    const discoveryAddress = `127.0.0.1:${plane.firstPort}`;
    const bootstrap = envoyBootstrap({ node, discoveryAddress, delta: true, adminPort: 0 }) as {
      dynamic_resources?: { lds_config?: unknown };
    };
    // Clusters are enough, and ports of listeners may be taken on this host.
    delete bootstrap.dynamic_resources?.lds_config;
    const binary = await findServer("envoy", { env: process.env });
    const options = { binary, directory: plane.workDir, name, bootstrap: bootstrap as never };
    const { adminUrl } = owned.use(await startEnvoy(options));
    const record = { workDir: plane.workDir, proxy: `${name}.shop` };
    owned.use(await recordAdminAddress(record, new URL(adminUrl).host));
  };

  before(async () => {
    mkdirSync(screenshots, { recursive: true });
    const plane = owned.use(await launch({ command: [process.execPath, program, "serve"] }));
    await plane.ready();
    const issuer = await openLocalIssuer(plane.workDir);
    const token = await issuer.mintToken({
      ...{ namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" },
    });
    const browser = owned.use(await launchChromium());
    started = { plane, browser, token, url: `http://localhost:${plane.firstPort + 10}` };
    apply(`${objects}---${reviews}`);
    await startProxy("envoy", "127.0.0.1");
    await startProxy("reviews", "127.0.0.2");
  });
  after(() => owned.disposeAsync());

  it("opens each screen: axe-core finds nothing in light and dark, the policy is kept", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, url, token);
    const problems: string[] = [];
    for (const { name, path, shows } of screens) {
      await page.goto(`${url}${path}`);
      await page.getByText(shows).first().waitFor({ timeout: 60_000 });
      const found = await problemsInBothSchemes(page, (scheme) =>
        page.screenshot({ path: join(screenshots, `${name}-${scheme}.png`) }),
      );
      problems.push(...found.map((problem) => `${name}: ${problem}`));
    }
    assert.deepEqual(problems, []);
    assert.deepEqual(faults, []);
  });

  it("shows a change of `flotilla apply` without being loaded again", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${url}/objects/DestinationRule/shop/web`, token);
    await page.getByText("maxConnections: 100").waitFor();
    await page.evaluate("window.isTheSame = true");
    apply(objects.replace("maxConnections: 100", "maxConnections: 7654"));
    await page.getByText("maxConnections: 7654").waitFor();
    assert.equal(await page.evaluate("window.isTheSame"), true);
    await page.getByRole("link", { name: "History" }).click();
    await page.locator(".diff .added", { hasText: "7654" }).first().waitFor();
  });

  it("shows what a request would meet: the route by its header, shares, and the policy that refuses it", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, `${url}/topology/-/request?from=envoy.shop&host=reviews.example`, token);
    const outcomes = page.locator(".outcome");
    await outcomes.getByText("It goes to the application on port 8080.").waitFor();
    assert.equal(await outcomes.count(), 1);
    await page.getByLabel("Path").fill("/admin");
    await page.getByLabel("Headers, one a line").fill("x-canary: yes");
    await page.getByRole("button", { name: "Show the way" }).click();
    const refused = outcomes.filter({ hasText: "90 %" });
    await refused.getByText("(AuthorizationPolicy/shop/no-admin)").waitFor();
    await refused.getByText("Decided at reviews.shop.").waitFor();
    // No proxy is connected with the second address.
    await outcomes.getByText("No proxy with the address of 127.0.0.3:8080 is connected").waitFor();
    const caller = page.getByRole("region", { name: "Leaves envoy.shop" });
    const route = caller.locator(":scope > .hops > li", { hasText: "canary" });
    await route.getByText("Matched: header x-canary is yes.").waitFor();
    await route.getByText("Timeout 4s.").waitFor();
    await route.getByRole("link", { name: "VirtualService/shop/reviews" }).waitFor();
    await caller.getByRole("link", { name: "DestinationRule/shop/reviews" }).first().waitFor();
    const receiver = page.getByRole("region", { name: "Arrives at reviews.shop" });
    await receiver.locator("li.stops").getByRole("link", { name: "AuthorizationPolicy/shop/no-admin" }).waitFor();
    await receiver.getByText("Mutual TLS is PERMISSIVE on port 8080.").waitFor();
    await page.screenshot({ path: join(screenshots, "request-way-refused-light.png"), fullPage: true });
    // The address has it all, and what changes in the mesh appears.
    await page.reload();
    await refused.waitFor();
    flotilla("delete", "AuthorizationPolicy", "no-admin", "--namespace", "shop");
    await refused.getByText("It goes to the application on port 8080.").waitFor();
    apply(reviews);
    await refused.getByText("(AuthorizationPolicy/shop/no-admin)").waitFor();
    assert.deepEqual(faults, []);
  });

  it("edits an object: what is wrong at its line, what would change, then applied and arrived", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, `${url}/objects/VirtualService/shop/web?tab=edit`, token);
    const field = page.getByLabel("Manifest");
    const text = await field.inputValue();
    await field.fill(text.replace("timeout: 1s", "timeout: []"));
    await page.locator(".annotation").waitFor();
    await page.screenshot({ path: join(screenshots, "editor-refused-light.png") });
    await field.fill(text.replace("timeout: 1s", "timeout: 9s"));
    await page.getByText("spec.http[0].timeout").waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied.").waitFor();
    await page.locator(".editor .tag", { hasText: "live" }).waitFor({ timeout: 60_000 });
    assert.match(flotilla("get", "VirtualService", "web", "--namespace", "shop", "-o", "yaml"), /timeout: 9s/);
    assert.deepEqual(faults, []);
  });

  it("writes an object by suggestions from the schema of its kind, with validation's answer at its line", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, `${url}/objects/new?kind=DestinationRule`, token);
    const field = page.getByLabel("Manifest");
    await field.focus();
    const option = (name: string) => page.getByRole("option", { name });
    const accept = async (name: string): Promise<void> => {
      await option(name).first().waitFor();
      await page.keyboard.press("Enter");
    };
    // The name is left to be typed.
    await field.evaluate((area) => {
      const text = area as unknown as { value: string; setSelectionRange(from: number, to: number): void };
      const at = text.value.indexOf("name: ") + "name: ".length;
      text.setSelectionRange(at, at);
    });
    await page.keyboard.type("suggested");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("  ho");
    await accept("host");
    await page.keyboard.type("web.example");
    await page.keyboard.press("Enter");
    await page.keyboard.type("  traf");
    await accept("trafficPolicy");
    await page.keyboard.type("loadB");
    await accept("loadBalancer");
    await page.keyboard.type("sim");
    await accept("simple");
    await option("LEAST_REQUEST").waitFor();
    await page.screenshot({ path: join(screenshots, "editor-suggestions-light.png") });
    await page.keyboard.type("x");
    await page.locator(".annotation").waitFor();
    await page.keyboard.press("Backspace");
    await page.keyboard.type("RAN");
    await accept("RANDOM");
    await page.getByText("Valid. Apply would change").waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied.").waitFor();
    assert.match(
      flotilla("get", "DestinationRule", "suggested", "--namespace", "default", "-o", "yaml"),
      /simple: RANDOM/,
    );
    flotilla("delete", "DestinationRule", "suggested", "--namespace", "default");
    assert.deepEqual(faults, []);
  });

  it("compares a proxy with the generation before and with another proxy, and saves its config dump", async () => {
    const { plane, browser, url, token } = started;
    await using _other = connectProxy(plane.firstPort, "other");
    await using window = await openPage(browser);
    const { page, faults } = window;
    await signIn(page, `${url}/proxies/envoy.shop?tab=compare`, token);
    apply(ruleWith(4321));
    await page.locator(".change", { hasText: "4321" }).first().waitFor({ timeout: 60_000 });
    await page.getByLabel("Compare with the proxy").fill("other.shop");
    await page.getByRole("button", { name: "Compare" }).click();
    // Nothing is redirected to the other one.
    await page.locator(".change", { hasText: "virtualOutbound" }).waitFor({ timeout: 60_000 });
    assert.equal(new URL(page.url()).searchParams.get("with"), "other.shop");
    await page.screenshot({ path: join(screenshots, "compare-light.png") });
    await page.goBack();
    await page.locator(".change", { hasText: "4321" }).first().waitFor();
    const saving = page.waitForEvent("download");
    await page.getByRole("link", { name: "Config dump" }).click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "envoy.shop-config-dump.json");
    const { configs } = JSON.parse(readFileSync(await saved.path(), "utf8")) as { readonly configs: readonly object[] };
    assert.match(JSON.stringify(configs), /outbound\|80\|\|web\.example/);
    assert.deepEqual(faults, []);
  });

  it("compares two generations", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${url}/changes?q=DestinationRule`, token);
    const latest = await page.evaluate<{ readonly generation: number }>(
      "fetch('/api/v1/changes?object=DestinationRule/shop/web&limit=1').then((answer) => answer.json()).then(({ rows }) => rows[0])",
    );
    const { generation } = latest;
    await page.goto(`${url}/changes/compare?from=${generation - 1}&to=${generation}`);
    await page.getByText("DestinationRule/shop/web").first().waitFor();
    await page.locator(".diff .added", { hasText: "maxConnections: 4321" }).first().waitFor();
    await page.screenshot({ path: join(screenshots, "generations-light.png") });
  });

  it("changes a log level on the settings screen while the service runs", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${url}/settings?replica=xds-server`, token);
    const level = page.getByLabel("Level of default");
    await level.selectOption("debug");
    await page.getByText("default logs debug until xds-server ends.").waitFor();
    await page.reload();
    await level.waitFor();
    assert.equal(await level.inputValue(), "debug");
    await level.selectOption("info");
    await page.getByText("default logs info until xds-server ends.").waitFor();
  });

  it("shows pushes with their latency and the wasted share, from what the replicas measured", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, url, token);
    const fact = (name: string) => page.getByLabel("Pushes").locator("dl div", { hasText: name }).locator("dd");
    // Metrics are read every 15 s; the pushes are those of the tests before.
    apply(ruleWith(4322));
    for (const name of ["p50", "p99"])
      await fact(name)
        .filter({ hasText: /^[\d.]+ m?s$/ })
        .waitFor({ timeout: 90_000 });
    assert.match((await fact("wasted").textContent()) ?? "", /^[\d.]+ %$/);
    await page.locator(".uplot canvas").first().waitFor({ timeout: 90_000 });
    await page.screenshot({ path: join(screenshots, "pushes-light.png") });
  });

  it("blames an object that a real Envoy rejects, and clears it when it is gone", async () => {
    const { browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${url}/rejections`, token);
    await page.getByText("No proxy rejects anything.").waitFor();
    apply(rejectedPatch);
    const appliedMs = performance.now();
    await page.getByRole("link", { name: "EnvoyFilter/shop/web" }).waitFor();
    process.stdout.write(`the rejected object was shown ${Math.round(performance.now() - appliedMs)} ms after apply\n`);
    await page.getByText("Cluster.ConnectTimeout").waitFor();
    await page.screenshot({ path: join(screenshots, "rejected-light.png") });
    await page.goto(`${url}/proxies?state=rejected`);
    await page.getByRole("link", { name: "envoy.shop" }).waitFor();
    await page.screenshot({ path: join(screenshots, "rejected-proxy-light.png") });
    await page.goto(`${url}/rejections`);
    flotilla("delete", "EnvoyFilter", "web", "--namespace", "shop");
    await page.getByText("No proxy rejects anything.").waitFor();
  });

  it("names services that are killed, keeps what it knows, and goes on when they are back", async () => {
    const { plane, browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, url, token);
    const ready = page.locator("tr", { hasText: "config-controller" }).locator(".tag", { hasText: /^ready$/ });
    await ready.waitFor();
    const pids = (plane.running()?.services ?? [])
      .filter(({ name }) => name === "config-controller" || name === "xds-server")
      .flatMap(({ pid }) => pid ?? []);
    assert.equal(pids.length, 2);
    // They answer nothing for a while, as on a host that hangs; then they are gone.
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    try {
      await page.getByText("Incomplete").waitFor({ timeout: 60_000 });
      await page.getByText("Unknown: xds-server is unreachable.").waitFor({ timeout: 60_000 });
      await page.screenshot({ path: join(screenshots, "away-light.png") });
    } finally {
      // A stopped process ends by nothing else.
      for (const pid of pids) process.kill(pid, "SIGKILL");
    }
    await ready.waitFor({ timeout: 60_000 });
    await page.getByText("Incomplete").waitFor({ state: "detached", timeout: 60_000 });
    assert.equal(await page.getByRole("heading", { name: "Overview" }).isVisible(), true);
  });

  it("asks for a token again when the console itself was killed", async () => {
    const { plane, browser, url, token } = started;
    await using window = await openPage(browser);
    const { page } = window;
    await signIn(page, `${url}/proxies?q=envoy`, token);
    const pid = plane.running()?.services.find(({ name }) => name === "console")?.pid;
    assert.ok(pid !== undefined);
    process.kill(pid, "SIGKILL");
    await page.getByText("The session has ended. Sign in again.").waitFor({ timeout: 60_000 });
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "envoy.shop" }).waitFor();
    assert.equal(new URL(page.url()).search, "?q=envoy");
  });
});
