/** `flotilla analyze`: its sources, thresholds, suppressions, formats and exit codes. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type Answer, answerApi } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-analyze-"));
after(() => rmSync(directory, { recursive: true }));

function written(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const service =
  "apiVersion: v1\nkind: Service\nmetadata: {name: reviews, namespace: shop}\nspec: {ports: [{name: http, port: 80}]}\n";
const route = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [reviews]
  http:
  - route:
    - destination: {host: revews}
`;
const bad = written("bad.yaml", `${service}---\n${route}`);
const good = written("good.yaml", `${service}---\n${route.replace("revews", "reviews")}`);
const suppressing = written(
  "suppressing.yaml",
  `${service}---\n${route.replace("namespace: shop}", "namespace: shop, annotations: {galley.istio.io/analyze-suppress: IST0101}}")}`,
);
const noted = written("noted.yaml", service.replace("name: http", "name: odd"));
const broken = written("broken.yaml", "a: [\n");

const cases: readonly (readonly [name: string, args: readonly string[], code: number, out: RegExp])[] = [
  [
    "names file, line, column, field and code",
    [bad],
    79,
    /bad\.yaml:13:21: error: VirtualService shop\/reviews: spec\.http\[0\]\.route\[0\]\.destination\.host: host revews does not exist: is reviews meant\? \[IST0101\]\n2 objects, 1 error, 0 warnings, 0 notes\n/,
  ],
  ["finds nothing where all is well", [good], 0, /^2 objects, 0 errors, 0 warnings, 0 notes\n$/],
  ["finds what several files have between them", [bad, good], 0, /^4 objects, 0 errors/],
  ["shows notes without failing", [noted], 0, /info: Service shop\/reviews: spec\.ports\[0\]: .*\[IST0118\]/],
  ["fails at a lower threshold", [noted, "--failure-threshold", "Info"], 79, /IST0118/],
  [
    "hides what is below the threshold of output",
    [noted, "--output-threshold", "Warning"],
    0,
    /^1 object, 0 errors, 0 warnings, 0 notes\n$/,
  ],
  [
    "hides suppressed messages, which fail nothing",
    [bad, "-S", "IST0101=VirtualService *.shop"],
    0,
    /^2 objects, 0 errors/,
  ],
  ["leaves messages that a suppression does not mean", [bad, "-S", "IST0101=VirtualService *.other"], 79, /IST0101/],
  ["hides what an object suppresses itself", [suppressing], 0, /^2 objects, 0 errors/],
  ["runs one analyzer", [bad, "--analyzer", "port-names"], 0, /^2 objects, 0 errors/],
  ["lists the analyzers", ["-L"], 0, /route-destinations +routes to hosts and ports that are not there/],
  ["reports files that are no YAML", [broken], 3, /broken\.yaml:\d+:\d+: error: .*\n0 objects, 1 error/],
  ["refuses an unknown analyzer", [bad, "--analyzer", "nothing"], 2, /^$/],
  ["refuses a suppression of another form", [bad, "-S", "IST0101"], 2, /^$/],
];

describe("flotilla analyze", () => {
  for (const [name, args, code, out] of cases)
    it(name, async () => {
      const outcome = await recordRun(["analyze", ...args]);
      assert.match(outcome.out, out, outcome.err);
      assert.equal(outcome.code, code, outcome.err);
    });

  it("reports as JSON and SARIF", async () => {
    const json = JSON.parse((await recordRun(["analyze", bad, "-o", "json"])).out);
    assert.deepEqual(
      [json.checked, json.errors, json.infos, json.findings[0].code, json.findings[0].line],
      [2, 1, 0, "IST0101", 13],
    );
    const [run] = JSON.parse((await recordRun(["analyze", bad, noted, "-o", "sarif"])).out).runs;
    const [error, note] = run.results;
    assert.deepEqual([error.ruleId, error.level, note.ruleId, note.level], ["IST0101", "error", "IST0118", "note"]);
    assert.ok(run.tool.driver.rules.some(({ id }: { readonly id: string }) => id === "IST0118"));
  });

  it("reads MeshConfig from the ConfigMap and from a file", async () => {
    const logging =
      "apiVersion: telemetry.istio.io/v1\nkind: Telemetry\nmetadata: {name: a, namespace: shop}\nspec: {accessLogging: [{}]}\n";
    const mesh = "defaultProviders: {accessLogging: [envoy]}\n";
    const map = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata: {mesh: '${mesh.trim()}'}\n`;
    const [without, withMap] = [written("logging.yaml", logging), written("map.yaml", map)];
    const codes = async (...args: readonly string[]) =>
      (await recordRun(["analyze", ...args])).out.match(/IST\d+/g) ?? [];
    assert.deepEqual(await codes(without), ["IST0157"]);
    assert.deepEqual(await codes(without, withMap), []);
    assert.deepEqual(await codes(without, "--mesh", written("mesh.yaml", mesh)), []);
    const ofCanary = written("canary.yaml", map.replace("name: istio,", "name: istio-canary,"));
    assert.deepEqual(await codes(without, ofCanary), ["IST0157"]);
    assert.deepEqual(await codes(without, ofCanary, "--revision", "canary"), []);
    assert.deepEqual(await codes(without, withMap, "--revision", "canary"), ["IST0157"]);
  });

  it("compares Services with those of other clusters", async () => {
    const text = (spec: string) =>
      `apiVersion: v1\nkind: Service\nmetadata: {name: reviews, namespace: shop}\nspec: {${spec}}\n`;
    const ports = "ports: [{name: http, port: 80}]";
    const here = written("here.yaml", text(ports));
    const west = written("west.yaml", text("clusterIP: None, ports: [{name: http, port: 80}, {name: grpc, port: 81}]"));
    const same = written(
      "same.yaml",
      text("type: ClusterIP, ports: [{name: http, port: 80, protocol: TCP, targetPort: 80}]"),
    );
    const { out } = await recordRun([
      "analyze",
      here,
      "--remote-files",
      `west=${west}`,
      "--remote-files",
      `east=${same}`,
    ]);
    assert.match(
      out,
      /here\.yaml:\d+:\d+: warning: Service shop\/reviews: the Service differs between clusters this one, west: in west it is headless, it has port grpc 81\/TCP to 81 \[IST0170\]/,
    );
    const elsewhere = written("none.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    const remote = ["--remote-files", `west=${west}`, "--remote-files", `east=${same}`];
    const apart = await recordRun(["analyze", elsewhere, ...remote]);
    assert.match(apart.out, /^warning: Service shop\/reviews: .* clusters east, west: in west it is headless/m);
    assert.equal((await recordRun(["analyze", here, "--remote-files", west])).code, 2);
  });

  it("takes workloads and machines for the pods that they stand for", async () => {
    const policy = (app: string) =>
      `apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: ${app}, namespace: shop}\nspec: {selector: {matchLabels: {app: ${app}}}}\n`;
    const template = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: app}]}}";
    const file = written(
      "workloads.yaml",
      [
        `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {${template}}\n`,
        "apiVersion: networking.istio.io/v1\nkind: WorkloadEntry\nmetadata: {name: db, namespace: shop}\nspec: {address: 192.0.2.1, labels: {app: db}}\n",
        ...["web", "db", "lost"].map(policy),
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n",
      ].join("---\n"),
    );
    const { out } = await recordRun(["analyze", file]);
    assert.match(
      out,
      /^[^\n]*PeerAuthentication shop\/lost[^\n]*\[FLT0005\]\n6 objects, 0 errors, 1 warning, 0 notes\n$/,
    );
  });

  it("asks a control plane, and leaves out analyzers that it has no objects for", async () => {
    const [object] = [
      JSON.parse(
        JSON.stringify({
          apiVersion: "networking.istio.io/v1",
          kind: "VirtualService",
          metadata: { name: "a", namespace: "shop" },
          spec: { hosts: ["a"], http: [{ route: [{ destination: { host: "a" } }] }] },
        }),
      ),
    ];
    const answer: Answer = ({ url }) => {
      if (url.includes("/Pod?")) return { status: 404, body: { message: "no such kind" } };
      return { body: { items: url.includes("/VirtualService?") ? [{ object }] : [] } };
    };
    const analyzers = ["--analyzer", "route-destinations", "--analyzer", "gateway-ports"];
    await using api = await answerApi(answer);
    const { code, out, err } = await recordRun(["analyze", ...analyzers, ...api.apiOptions]);
    assert.match(out, /^error: VirtualService shop\/a: spec\.http\[0\].*\[IST0101\]\n1 object,/);
    assert.match(err, /has no objects of Pod; left out: .*gateway-ports/);
    assert.equal(code, 79);
    assert.doesNotMatch(err, /undefined|; left out: ?$/m);
    await using withoutMaps = await answerApi(({ url }) =>
      url.includes("/ConfigMap?") ? { status: 403, body: { message: "no" } } : { body: { items: [] } },
    );
    const forbidden = await recordRun(["analyze", "--analyzer", "port-names", ...withoutMaps.apiOptions]);
    assert.match(forbidden.err, /has no objects of ConfigMap$/m);
    const whole = await recordRun(["analyze", "--analyzer", "route-destinations", ...api.apiOptions]);
    assert.doesNotMatch(whole.err, /left out/);
    const gateway = {
      ...{ apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name: "g", namespace: "shop" } },
      spec: {
        selector: { istio: "ingressgateway" },
        servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
      },
    };
    await using withGateway = await answerApi(({ url }) => ({
      body: { items: url.includes("/Gateway?") ? [{ object: gateway }] : [] },
    }));
    const ports = ["analyze", "--analyzer", "gateway-ports"];
    const live = await recordRun([...ports, ...withGateway.apiOptions]);
    assert.match(live.out, /Gateway shop\/g: .*\[IST0101\]/, "a control plane has the gateways that it has");
    const ofFile = await recordRun([...ports, written("gateway.yaml", JSON.stringify(gateway))]);
    assert.doesNotMatch(ofFile.out, /IST0101/, "files are looked at as of an installation with its gateway");
    const elsewhere = await recordRun(["analyze", "-n", "bank", ...analyzers, ...api.apiOptions]);
    assert.deepEqual([elsewhere.code, elsewhere.out], [0, "1 object, 0 errors, 0 warnings, 0 notes\n"]);
  });
});
