/** EnvoyFilters: what they add is seen in traffic, and is gone when they are. */
import assert from "node:assert/strict";
import { until } from "@flotilla/runtime";
import type { Client } from "../client.ts";
import type { Feature } from "../feature.ts";

const type = (name: string) => `type.googleapis.com/envoy.extensions.filters.http.${name}`;
const beforeRouter = `{context: SIDECAR_OUTBOUND, listener: {filterChain: {filter: {name: envoy.filters.network.http_connection_manager, subFilter: {name: envoy.filters.http.router}}}}}`;

const filter = (name: string, patches: string) => `apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: ${name}, namespace: shop}
spec:
  configPatches:${patches}`;

const nothing = "# no objects\n";

function answers(client: Client, service: string, what: string, holds: (answer: Answer) => boolean): Promise<unknown> {
  return until(async () => holds(await client.call(service)), { withinMs: 10_000, what });
}
type Answer = Awaited<ReturnType<Client["call"]>>;

export const scripted: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("scripted", [{ port }]);
  const script = filter(
    "scripted",
    `
  - applyTo: HTTP_FILTER
    match: ${beforeRouter}
    patch:
      operation: INSERT_BEFORE
      value:
        name: scripted
        typed_config:
          "@type": ${type("lua.v3.Lua")}
          default_source_code:
            inline_string: |
              function envoy_on_request(handle) handle:headers():add("x-scripted", "yes") end
  - applyTo: CLUSTER
    patch: {operation: MERGE, value: {connect_timeout: soon}}
`,
  );
  return [
    {
      name: "a Lua filter adds a header, a patch beside it that is wrong is named, and nothing is left without them",
      holds: async (client, plane) => {
        const header = ({ reply }: Answer) => reply?.headers["x-scripted"];
        assert.equal(header(await client.call("scripted")), undefined);
        plane.write("scripted.yaml", script);
        await answers(client, "scripted", "the header of the script", (answer) => header(answer) === "yes");
        const found = (await plane.pushStatus())["flotilla_envoy_filter_problem"]?.["EnvoyFilter/shop/scripted"];
        assert.match(found?.message ?? "", /^spec\.configPatches\[1\]\.patch\.value /);
        plane.write("scripted.yaml", nothing);
        await answers(client, "scripted", "no header", (answer) => header(answer) === undefined);
      },
    },
  ];
};

export const rateLimit: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  for (const name of ["limited", "unlimited"]) mesh.service(name, [{ port }]);
  const limit = filter(
    "limited",
    `
  - applyTo: HTTP_FILTER
    match: ${beforeRouter}
    patch:
      operation: INSERT_BEFORE
      value:
        name: envoy.filters.http.local_ratelimit
        typed_config: {"@type": ${type("local_ratelimit.v3.LocalRateLimit")}, stat_prefix: limiter}
  - applyTo: HTTP_ROUTE
    match: {context: SIDECAR_OUTBOUND, routeConfiguration: {vhost: {domainName: limited}}}
    patch:
      operation: MERGE
      value:
        typed_per_filter_config:
          envoy.filters.http.local_ratelimit:
            "@type": ${type("local_ratelimit.v3.LocalRateLimit")}
            stat_prefix: limiter
            token_bucket: {max_tokens: 1, fill_interval: 3600s}
            filter_enabled: {default_value: {numerator: 100}}
            filter_enforced: {default_value: {numerator: 100}}
`,
  );
  return [
    {
      name: "a local rate limit of one host answers 429 there, and ends with its object",
      holds: async (client, plane) => {
        plane.write("limited.yaml", limit);
        await answers(client, "limited", "429 from limited", ({ status }) => status === 429);
        assert.deepEqual(await client.versions("unlimited", 3), { v1: 3 });
        plane.write("limited.yaml", nothing);
        await answers(client, "limited", "200 from limited", ({ status }) => status === 200);
        assert.deepEqual(await client.versions("limited", 3), { v1: 3 });
      },
    },
  ];
};
