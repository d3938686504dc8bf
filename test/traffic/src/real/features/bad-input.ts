/** Objects that are wrong: what they break is named, everything else goes on. */
import assert from "node:assert/strict";
import { until } from "@flotilla/runtime";
import type { Feature } from "../feature.ts";
import type { Plane, Problem } from "../plane.ts";

/** The finding about an object in the push status; the metric of that name counts it. */
async function pushStatus(plane: Plane, metric: string, object: string): Promise<string> {
  const message = await until(async () => (await plane.pushStatus())[metric]?.[object]?.message, {
    withinMs: 5_000,
    what: `${metric} of ${object} in the push status`,
  });
  assert.ok((await plane.metric(metric)) >= 1, metric);
  return message;
}

async function refusal(plane: Plane, object: string): Promise<Problem> {
  return until(async () => (await plane.problems()).find((problem) => problem.object === object), {
    withinMs: 5_000,
    what: `the refusal of ${object}`,
  });
}

export const unknownSubset: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("halfway", [{ port, labels: { version: "v1" } }]);
  mesh.rule("halfway", "  subsets: [{name: v1, labels: {version: v1}}]\n");
  mesh.httpRoutes(
    "halfway",
    `
    - match: [{uri: {prefix: /missing}}]
      route: [{destination: {host: halfway, subset: v9}}]
    - match: [{uri: {prefix: /nowhere}}]
      route: [{destination: {host: nowhere}}]
    - route: [{destination: {host: halfway, subset: v1}}]
`,
  );
  return [
    {
      name: "a route to an unknown subset or host answers 503, its neighbours go on, and both are named",
      holds: async (client, plane) => {
        assert.equal((await client.call("halfway", "/missing")).status, 503);
        assert.equal((await client.call("halfway", "/nowhere")).status, 503);
        assert.equal((await client.call("halfway", "/")).reply?.version, "v1");
        const message = await pushStatus(plane, "flotilla_unknown_destination", "VirtualService/shop/halfway");
        assert.match(message, /subset v9 of halfway\.shop\.svc\.cluster\.local/);
        assert.match(message, /nowhere\.shop\.svc\.cluster\.local/);
      },
    },
  ];
};

export const badExpression: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("garbled", [{ port }]);
  mesh.httpRoutes("garbled", `    - match: [{uri: {regex: "/(["}}]\n      directResponse: {status: 418}\n`);
  return [
    {
      name: "an expression that does not compile is refused with its field",
      holds: async (client, plane) => {
        assert.equal((await client.call("garbled", "/")).reply?.version, "v1");
        const { field = "", reason } = await refusal(plane, "VirtualService/shop/garbled");
        assert.equal(field, "spec.http[0].match[0].uri.regex");
        assert.match(reason, /regular expression/);
      },
    },
  ];
};

export const weightsOfNothing: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  for (const name of ["weightless", "overweight"]) mesh.service(name, [{ port }]);
  const route = (host: string, weight: number) => `{destination: {host: ${host}}, weight: ${weight}}`;
  mesh.httpRoutes("weightless", `    - route: [${route("weightless", 0)}, ${route("flaky", 0)}]\n`);
  mesh.httpRoutes("overweight", `    - route: [${route("overweight", 300)}, ${route("overweight", 100)}]\n`);
  return [
    {
      name: "weights need not make 100, but all zero they are refused",
      holds: async (client, plane) => {
        assert.deepEqual(await client.versions("overweight", 10), { v1: 10 });
        assert.equal((await client.call("weightless", "/")).status, 200);
        const { field = "", reason } = await refusal(plane, "VirtualService/shop/weightless");
        assert.equal(field, "spec.http[0].route");
        assert.match(reason, /weight/);
      },
    },
  ];
};

export const twoForOneHost: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("doubled", [{ port }]);
  for (const [name, status] of [
    ["doubled-a", 201],
    ["doubled-b", 202],
  ] as const)
    mesh.object("VirtualService", name, {
      hosts: ["doubled"],
      http: [{ directResponse: { status } }],
    });
  return [
    {
      name: "of two VirtualServices for one host one holds, and the other is named",
      holds: async (client, plane) => {
        assert.equal((await client.call("doubled")).status, 201);
        await pushStatus(plane, "pilot_vservice_dup_domain", "VirtualService/shop/doubled-b");
      },
    },
  ];
};

/** On listeners of redirected connections, where what is sent distinguishes HTTP from other protocols. */
export const portConflict: Feature = async (mesh) => {
  const port = 7777;
  const [http, tcp] = [await mesh.httpBackend("v1"), await mesh.tcpBackend("tcp")];
  const entry = (name: string, protocol: string, backend: number) =>
    mesh.object("ServiceEntry", name, {
      hosts: [`${name}.example.com`],
      resolution: "STATIC",
      ports: [{ number: port, name: "main", protocol }],
      endpoints: [{ address: "127.0.0.1", ports: { main: backend } }],
    });
  entry("a-polite", "HTTP", http.port);
  entry("b-blunt", "TCP", tcp);
  entry("c-late", "TCP", tcp);
  return [
    {
      name: "HTTP and TCP share a port by what is sent; a second TCP service finds no place there and is named",
      holds: async (_, plane) => {
        await using proxy = await plane.connectProxy();
        assert.equal(proxy.calls(`http://a-polite.example.com:${port}/`), `outbound|${port}||a-polite.example.com`);
        assert.equal(proxy.calls(`tcp://b-blunt.example.com:${port}/`), `outbound|${port}||b-blunt.example.com`);
        assert.equal(proxy.calls(`tcp://c-late.example.com:${port}/`), `outbound|${port}||b-blunt.example.com`);
        await pushStatus(plane, "pilot_conflict_outbound_listener_tcp_over_current_tcp", "c-late.example.com");
      },
    },
  ];
};

export const editGoneWrong: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("edited", [{ port }]);
  const version = (match: string, status: number) => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: edited, namespace: shop}
spec: {hosts: [edited], http: [{match: [{uri: {regex: "${match}"}}], directResponse: {status: ${status}}}]}
`;
  const object = "VirtualService/shop/edited";
  return [
    {
      name: "an object that becomes wrong stays as it was when it was right",
      holds: async (client, plane) => {
        const answers = (status: number) =>
          until(async () => (await client.call("edited", "/x")).status === status, {
            withinMs: 5_000,
            what: `${status} from edited`,
          });
        plane.write("edited.yaml", version("/.*", 201));
        await answers(201);
        plane.write("edited.yaml", version("/(.*", 202));
        await refusal(plane, object);
        assert.equal((await client.call("edited", "/x")).status, 201);
        plane.write("edited.yaml", version("/.*", 203));
        await answers(203);
        assert.ok((await plane.problems()).every((problem) => problem.object !== object));
      },
    },
  ];
};

export const ruleWithoutHost: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("ruled", [{ port }]);
  mesh.object("DestinationRule", "hostless", { trafficPolicy: { tls: { mode: "SIMPLE" } } });
  return [
    {
      name: "a DestinationRule without a host is refused",
      holds: async (client, plane) => {
        assert.equal((await client.call("ruled")).status, 200);
        assert.match((await refusal(plane, "DestinationRule/shop/hostless")).field ?? "", /host/);
      },
    },
  ];
};

export const sidecarForNobody: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("open", [{ port }]);
  mesh.object("Sidecar", "nobody", {
    workloadSelector: { labels: { app: "nobody" } },
    egress: [{ hosts: ["./nothing.shop.svc.cluster.local"] }],
  });
  return [
    {
      name: "a Sidecar that selects nothing changes nothing, and is named",
      holds: async (client, plane) => {
        assert.equal((await client.call("open")).status, 200);
        await pushStatus(plane, "flotilla_selects_no_workload", "Sidecar/shop/nobody");
        const found = Object.keys((await plane.pushStatus())["flotilla_selects_no_workload"] ?? {});
        assert.deepEqual(found, ["Sidecar/shop/nobody"]);
      },
    },
  ];
};
