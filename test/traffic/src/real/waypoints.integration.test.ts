/** Calls to a real Envoy that is a waypoint: callers that use HBONE, and a gateway that calls through it; both forms of xDS. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { binomialBounds } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { httpCall } from "./client.ts";
import { ConstantCallers } from "./waypoint/constant-callers.ts";
import type { TunnelAnswer, TunnelClient } from "./waypoint/tunnels.ts";
import { type Proxies, startWaypointLab } from "./waypoint/waypoint-lab.ts";
import {
  boundToWaypoint,
  calledThroughWaypoint,
  edgeHost,
  gatewayApi,
  istio,
  lateService,
  namespace,
  policy,
  vips,
} from "./waypoint/waypoint-mesh.ts";

const lab = await startWaypointLab();
after(() => lab[Symbol.asyncDispose]());

const web = `${vips.web}:80`;
const nothing = "";
const soon = (what: string) => ({ withinMs: 60_000, what });
const hostOf = (name: string) => `${name}.${namespace}.svc.cluster.local`;
const backend = (name: string, weight: number) => ({ name, port: 80, weight });
const httpRoute = (rules: readonly object[]) =>
  gatewayApi("HTTPRoute", "web", { spec: { parentRefs: [{ group: "", kind: "Service", name: "web" }], rules } });
const allow = (targetRefs: readonly object[], account: string) =>
  policy("AuthorizationPolicy", "only", {
    targetRefs,
    rules: [
      {
        from: [{ source: { principals: [`cluster.local/ns/${namespace}/sa/${account}`] } }],
        to: [{ operation: { methods: ["GET"], paths: ["/open*"] } }],
      },
    ],
  });

/** Before the waypoint has the service, its address leads nowhere. */
const isStamped = (answer: Promise<TunnelAnswer>) =>
  answer.then(
    ({ headers }) => headers["x-way"] === "waypoint",
    () => false,
  );

for (const form of ["delta", "state of the world"] as const) {
  describe(`a waypoint over ${form}`, () => {
    let proxies: Proxies;
    let client: TunnelClient;
    before(async () => {
      proxies = await lab.startProxies(form === "delta");
      client = await proxies.client("caller");
    });
    after(() => proxies[Symbol.asyncDispose]());

    /** Replaces a file until a call is answered as expected. */
    const follow = (text: string, what: string, isMet: () => Promise<boolean>) => {
      lab.write("rules.yaml", text);
      return until(isMet, soon(what));
    };
    const called = (path = "/", headers = {}) => client.call(web, path, headers);
    /** Calls one after the other, of which each has a tunnel of its own. */
    const answers = async (count: number): Promise<readonly TunnelAnswer[]> => {
      const all: TunnelAnswer[] = [];
      while (all.length < count) all.push(await called());
      return all;
    };
    const assertShare = (all: readonly TunnelAnswer[], share: number) => {
      assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
      const second = all.filter(({ version }) => version === "v2").length;
      const [low, high] = binomialBounds(all.length, share);
      assert.ok(second >= low && second <= high, `v2 answered ${second} of ${all.length}, want ${low}..${high}`);
    };

    it("leads to every endpoint of a service by the service's address", async () => {
      assert.deepEqual(new Set((await answers(20)).map(({ version }) => version)), new Set(["v1", "v2"]));
    });

    it("reaches a captured pod by a tunnel, with its own identity", async () => {
      assert.equal((await client.call(`${vips.captured}:80`)).version, "captured");
      const { caller, address } = lab.captured.opened.at(-1) ?? {};
      assert.equal(caller, `URI:spiffe://cluster.local/ns/${namespace}/sa/waypoint`);
      assert.equal(address, `${lab.addresses.captured}:8080`);
    });

    it("follows an HTTPRoute: matches, weights and header filters", async () => {
      const stamp = { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "x-way", value: "1" }] } };
      await follow(
        httpRoute([
          {
            matches: [{ path: { type: "PathPrefix", value: "/two" } }],
            backendRefs: [backend("v2", 1)],
            filters: [stamp],
          },
          { backendRefs: [backend("v1", 3), backend("v2", 1)] },
        ]),
        "the HTTPRoute",
        async () => (await called("/two")).headers["x-way"] === "1",
      );
      assert.equal((await called("/two/a")).version, "v2");
      assertShare(await answers(200), 0.25);
    });

    it("follows a VirtualService: matches and weights", async () => {
      const to = (name: string) => ({ destination: { host: hostOf(name), port: { number: 80 } } });
      const http = [
        {
          match: [{ headers: { "x-who": { exact: "a" } } }],
          route: [to("v2")],
          headers: { request: { set: { "x-way": "2" } } },
        },
        {
          route: [
            { ...to("v1"), weight: 90 },
            { ...to("v2"), weight: 10 },
          ],
        },
      ];
      await follow(
        istio("VirtualService", "web", { hosts: [hostOf("web")], http }),
        "the VirtualService",
        async () => (await called("/", { "x-who": "a" })).headers["x-way"] === "2",
      );
      assertShare(await answers(200), 0.1);
    });

    for (const { named, ref } of [
      { named: "its service", ref: { group: "", kind: "Service", name: "web" } },
      { named: "the waypoint", ref: { group: "gateway.networking.k8s.io", kind: "Gateway", name: "waypoint" } },
    ])
      it(`carries out an AuthorizationPolicy for ${named}, and takes it back`, async () => {
        const stranger = await proxies.client("stranger");
        await follow(allow([ref], "caller"), "the policy", async () => (await called("/closed")).status === 403);
        assert.equal((await called("/open")).status, 200);
        assert.equal((await stranger.call(web, "/open")).status, 403);
        await follow(
          nothing,
          "the end of the policy",
          async () => (await stranger.call(web, "/closed")).status === 200,
        );
      });

    it("is put before a service and taken away while it is called without a pause, and no request fails", async () => {
      const late = (labels = {}) => lab.write("late.yaml", lateService(lab.addresses, labels));
      // Only the waypoint follows it: the gateway has a route of its own.
      const headers = { request: { set: { "x-way": "waypoint" } } };
      const route = [{ destination: { host: hostOf("late"), port: { number: 80 } } }];
      const stamped = istio("VirtualService", "late", { hosts: [hostOf("late")], http: [{ headers, route }] });
      const callers = new ConstantCallers(() => httpCall(lab.edgePort, "/", { headers: { host: edgeHost } }), 4);
      await until(async () => (await callers.call()).status === 200, soon("the service without a waypoint"));
      lab.write("rules.yaml", stamped);
      callers.start();
      try {
        for (const round of [1, 2, 3]) {
          // The waypoint is ready for the service before callers are sent there.
          late(boundToWaypoint);
          await until(
            () => isStamped(client.call(`${vips.late}:80`)),
            soon(`the waypoint to be ready, round ${round}`),
          );
          late({ ...boundToWaypoint, ...calledThroughWaypoint });
          await until(() => callers.seen.has("waypoint"), soon(`the waypoint, round ${round}`));
          late(boundToWaypoint);
          await until(() => !callers.takeSeen().has("waypoint"), {
            ...soon(`no waypoint, round ${round}`),
            everyMs: 200,
          });
          late();
        }
      } finally {
        await callers.stop();
        late();
        lab.write("rules.yaml", nothing);
      }
      assert.ok(callers.count > 0);
      assert.deepEqual(callers.failed, []);
    });

    it("refused nothing", async () => {
      for (const envoy of [proxies.waypoint, proxies.edge]) {
        const refused = [...(await envoy.stats(/update_rejected/))].filter(([, times]) => times > 0);
        assert.deepEqual(refused, [], envoy.logFile);
      }
    });
  });
}
