/**
 * docs/architecture/walk.md against what runs: one VirtualService and one endpoint go from a file to the stream of a sidecar, in one
 * process, while calls are recorded. Each change is made five times: what ran every time is on the page, and what is on the page ran.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import { recordCalls } from "./walk/call-order.ts";
import type { SmallMesh } from "./walk/small-mesh.ts";

const page = readFileSync(new URL("../../../docs/architecture/walk.md", import.meta.url), "utf8");

/** The folders through which a change goes; what they call beneath (models, schemas, messages, logs) is no stage. */
const stages = /^(?:packages\/(?:sources|registry|bus|incremental|xds)|services)\//;

/** They hear of the change, count it, or run by a clock of their own. */
const beside: readonly RegExp[] = [
  /^packages\/bus\/src\/(?:embedded-key-value|key-value|lease|set-aside|stream-comparison)\.ts$/,
  /^packages\/xds\/src\/(?:client|grpc)\//,
  /^services\/config-controller\/src\/(?:follow|ledger|status|gateway-status|debug|duties)\//,
  /^services\/config-controller\/src\/watch\/last-good\.ts$/,
  /^services\/xds-server\/src\/(?:debug|fleet)\//,
  /^services\/[\w-]+\/src\/(?:\w+\/)?(?:metrics|[\w-]+-metrics|problem-reports|pages|registry-pages)\.ts$/,
  /^services\/service-controller\/src\/publish\/progress\.ts$/,
  /^services\/[\w-]+\/src\/(?:main|app\/(?!change-flow|core|core-source|publishing|inputs)[\w-]+)\.ts$/,
  /^services\/service-controller\/src\/watch\/registered-workload-source\.ts$/,
  /^services\/xds-server\/src\/serve\/(?:ads-server|arrivals|deliveries|observers|debug-answers|connected-streams)\.ts$/,
];

/** They list what is refused, behind the change itself. */
const reports: ReadonlySet<string> = new Set(["problems"]);

// Before anything of the services is loaded.
const calls = recordCalls(stages, reports);
const { startSmallMesh } = await import("./walk/small-mesh.ts");

interface Walk {
  readonly title: string;
  readonly file: string;
  readonly type: string;
  readonly text: (version: number) => string;
  /** The other controller's, which may look at its own files meanwhile. */
  readonly idle: RegExp;
}

const service = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80, targetPort: 8080}], selector: {app: web}}
`;

const walks: readonly Walk[] = [
  {
    title: "A VirtualService",
    file: "config/web",
    type: typeUrl.route,
    text: (version) => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec: {hosts: [web], http: [{route: [{destination: {host: web}}], timeout: ${version}s}]}
`,
    idle: /^(?:services\/service-controller|packages\/registry)\//,
  },
  {
    title: "An endpoint",
    file: "registry/web-1",
    type: typeUrl.endpoint,
    text: (version) => `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [192.0.2.${version}], conditions: {ready: true}}]
`,
    idle: /^services\/config-controller\//,
  },
];

describe("the walk of a change", () => {
  let mesh: SmallMesh;

  before(async () => {
    mesh = await startSmallMesh({
      "registry/service": service,
      ...Object.fromEntries(walks.map(({ file, text }) => [file, text(1)])),
    });
  });

  after(() => mesh[Symbol.asyncDispose]());

  for (const walk of walks)
    it(`${walk.title} runs through the files that the page names`, { timeout: 120_000 }, async (t) => {
      const runs: (readonly string[])[] = [];
      for (const version of [2, 3, 4, 5, 6]) runs.push(await filesOf(mesh, walk, version));
      const named = filesNamed(walk.title);
      const always = runs.map((run) => new Set(run)).reduce((all, run) => all.intersection(run));
      const ever = new Set(runs.flat());
      const missing = [...always].filter((file) => isOnTheWay(file, walk) && !named.has(file));
      assert.deepEqual(missing, [], "they ran, and the page does not name them");
      assert.deepEqual([...named.difference(ever)], [], "the page names them, and they did not run");
      const { files, mostReturns } = figuresOf(walk.title);
      assert.equal(named.size, files, "the table has as many files as the sentence above it says");
      // Functions that run beside a walk now and then may come between.
      const returns = Math.min(...runs.map((run) => returnsOf(run.filter((file) => named.has(file)))));
      t.diagnostic(`${named.size} files, ${returns} returns`);
      assert.ok(returns <= mostReturns, `${returns} returns, the page has ${mostReturns}`);
    });
});

function isOnTheWay(file: string, { idle }: Walk): boolean {
  return stages.test(file) && !idle.test(file) && !beside.some((one) => one.test(file));
}

/** The files that ran until the client had the change. */
async function filesOf(mesh: SmallMesh, walk: Walk, version: number): Promise<readonly string[]> {
  let ran: readonly string[] | undefined;
  mesh.onUpdate = ({ typeUrl: type }) => {
    if (type === walk.type) ran ??= calls.take();
  };
  calls.take();
  mesh.write(walk.file, walk.text(version));
  await until(() => ran !== undefined, { withinMs: 60_000, what: `version ${version} of ${walk.title} at the client` });
  // Calls caused by the client's answer are not part of the next change.
  await until(() => calls.take().includes("packages/xds/src/receive.ts"), { withinMs: 60_000, what: "the answer" });
  return ran ?? [];
}

function returnsOf(files: readonly string[]): number {
  const stagesOf = files.map((file) => /^(?:packages\/[\w-]+|services\/[\w-]+\/src\/[\w-]+)\//.exec(file)?.[0]);
  const changes = stagesOf.filter((stage, index) => stage !== stagesOf[index - 1]);
  return changes.length - new Set(changes).size;
}

function sectionOf(title: string): string {
  const [, section = ""] = page.split(`\n## ${title}\n`);
  return section.split("\n## ", 1)[0] ?? "";
}

/** The figures that a section states; scripts/house.ts has the limits. */
function figuresOf(title: string): { readonly files: number; readonly mostReturns: number } {
  const [, files, mostReturns] = /^(\d+) files, (?:\d+ to )?(\d+) returns\./m.exec(sectionOf(title)) ?? [];
  return { files: Number(files), mostReturns: Number(mostReturns) };
}

/** The rows of a section's table: a folder, and its files. */
function filesNamed(title: string): ReadonlySet<string> {
  const table = sectionOf(title);
  return new Set(
    [...table.matchAll(/^\| `([^`]+)\/` \| (.+) \|$/gm)].flatMap(([, folder = "", files = ""]) =>
      files.split(" ").map((file) => `${folder}/${file}.ts`),
    ),
  );
}
