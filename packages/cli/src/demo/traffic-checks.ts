/** Checks of the demo with real requests through real Envoys. */
import { get } from "node:http";
import { binomialBounds, type Checks, expect } from "./checks.ts";
import type { Fleet } from "./fleet.ts";
import type { MeshFolder } from "./mesh-folder.ts";
import { call, countVersions, formatCounts, type ProxyAddress } from "./requests.ts";

const reviews = "reviews.shop.svc.cluster.local";

type CheckedFleet = Pick<Fleet, "addresses"> & {
  readonly [Name in "client" | "server"]: Pick<Fleet[Name], "name" | "stats">;
};

export async function checkTraffic(checks: Checks, fleet: CheckedFleet, mesh: MeshFolder): Promise<void> {
  const { client: proxy, server: sidecar } = fleet.addresses;
  await checks.run("requests are split 90/10 by the VirtualService", async () => {
    const counts = await countVersions(`${reviews}:8080`, 500, proxy);
    const [low, high] = binomialBounds(500, 0.1);
    const second = counts.get("v2") ?? 0;
    expect(
      second >= low && second <= high && (counts.get("v1") ?? 0) + second === 500,
      `${formatCounts(counts)}, want v2 in ${low}..${high}`,
    );
    return formatCounts(counts);
  });
  await checks.run("a header chooses the canary", async () => {
    const canary = () => call(`${reviews}:8080`, { "x-canary": "yes" }, "/", proxy);
    const answers = await Promise.all(Array.from({ length: 20 }, canary));
    expect(
      answers.every(({ reply }) => reply?.version === "v2"),
      "some went elsewhere",
    );
    return "20 of 20 to v2";
  });
  await checks.run("a service outside of the mesh is reached by its host name", async () => {
    const { status, reply } = await call("quotes.example.com:8080", {}, "/", proxy);
    expect(status === 200 && reply?.version === "quotes", `HTTP ${status}`);
    return "200";
  });
  await checks.run("the sidecars speak mutual TLS with certificates from ca", async () => {
    const caller = await callerSeenByV1(proxy);
    const expected = "spiffe://cluster.local/ns/shop/sa/web";
    expect(caller.includes(expected), `v1 saw x-forwarded-client-cert "${caller}", without ${expected}`);
    return `v1 saw ${expected}`;
  });
  await checks.run("plain text to the sidecar is refused in STRICT mode", async () => {
    const outcome = await plainRequest(sidecar);
    expect(outcome !== "answered", "it was answered");
    return outcome;
  });
  await checks.run("a changed file changes the route", async () => {
    const ms = await switchTo("v2", mesh, proxy);
    const counts = await countVersions(`${reviews}:8080`, 200, proxy);
    expect(counts.get("v2") === 200, `${formatCounts(counts)}, want v2 200`);
    return `${formatCounts(counts)}; in effect after ${ms} ms`;
  });
  for (const envoy of [fleet.client, fleet.server]) {
    await checks.run(`Envoy ${envoy.name} rejected nothing`, async () => {
      const rejected = [...(await envoy.stats(/update_rejected/))].filter(([, count]) => count > 0);
      expect(rejected.length === 0, rejected.map(([name, count]) => `${name} ${count}`).join(", "));
      return "update_rejected 0";
    });
  }
}

/** Asks v1 until one of its answers reports who it was called by. */
async function callerSeenByV1(proxy: ProxyAddress): Promise<string> {
  for (let i = 0; i < 50; i++) {
    const { reply } = await call(`${reviews}:8080`, {}, "/", proxy);
    if (reply?.version === "v1") return String(reply.headers["x-forwarded-client-cert"] ?? "missing");
  }
  throw new Error("no answer came from v1");
}

function plainRequest(sidecar: ProxyAddress): Promise<string> {
  return new Promise((resolve) => {
    const request = get({ ...sidecar, path: "/", timeout: 2_000 }, (response) => {
      response.resume();
      resolve("answered");
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", (error) => resolve(`refused (${(error as NodeJS.ErrnoException).code ?? error.message})`));
  });
}

/** Milliseconds from the file's writing until ten requests in a row followed it. */
async function switchTo(version: string, mesh: MeshFolder, proxy: ProxyAddress): Promise<number> {
  const started = performance.now();
  mesh.routeAllTo(version);
  let inARow = 0;
  let since = 0;
  while (inARow < 10) {
    if (performance.now() - started > 15_000) throw new Error(`not in effect within 15 s`);
    const { reply } = await call(`${reviews}:8080`, {}, "/", proxy);
    if (reply?.version === version) {
      if (inARow === 0) since = performance.now();
      inARow++;
    } else inARow = 0;
  }
  return Math.round(since - started);
}
