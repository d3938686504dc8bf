/** Where the keys of an issuer come from, by its rule and by what is known of the host that it names. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anyToJson, fromJson } from "@flotilla/proto";
import { JWTRuleSchema } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import type { View } from "../../snapshot/view.ts";
import { jwtFilters } from "./jwt.ts";

const host = "idp.shop.svc.cluster.local";

interface Source {
  readonly localJwks?: { readonly inlineString: string };
  readonly remoteJwks?: unknown;
}

/** The source in words: keys in the rule, a cluster and its bounds, or keys that nothing was signed by. */
function sourceOf(rule: Readonly<Record<string, string>>, fetching = "istiod"): unknown {
  const view = {
    proxy: { type: "sidecar" },
    read: () => [fromJson(JWTRuleSchema, rule)],
    servicesByHost: (name: string) => (name === host ? [{ hostname: name }] : []),
    feature: (name: string) => (name === "remoteJwks" ? fetching : assert.fail(name)),
  } as unknown as View;
  const [filter = assert.fail("no filter")] = jwtFilters(view);
  assert.ok(filter.configType.case === "typedConfig");
  const { providers } = anyToJson(filter.configType.value) as unknown as {
    providers: Readonly<Record<string, Source>>;
  };
  const { localJwks, remoteJwks } = providers["origins-0"] ?? assert.fail("no provider");
  if (localJwks !== undefined)
    return /"n": "0xObjM0U/.test(localJwks.inlineString) ? "no keys" : localJwks.inlineString;
  return remoteJwks;
}

const remote = (uri: string, port: number, hostname = host) => ({
  httpUri: { uri, cluster: `outbound|${port}||${hostname}`, timeout: "5s" },
  cacheDuration: "300s",
});

const cases: readonly (readonly [string, Readonly<Record<string, string>>, string | undefined, unknown])[] = [
  ["keys of the rule", { jwks: "{}", jwksUri: `http://${host}/keys` }, undefined, "{}"],
  ["no keys and no URI", {}, undefined, "no keys"],
  ["a URI that is none", { jwksUri: "keys" }, undefined, "no keys"],
  ["a service of the mesh", { jwksUri: `http://${host}/keys` }, undefined, remote(`http://${host}/keys`, 80)],
  ["one on TLS", { jwksUri: `https://${host}/keys` }, undefined, remote(`https://${host}/keys`, 443)],
  ["one on a port", { jwksUri: `https://${host}:8443/` }, undefined, remote(`https://${host}:8443/`, 8443)],
  ["an unknown host", { jwksUri: "https://a.test/keys" }, undefined, "no keys"],
  ["an unknown host without a URI where Envoy fetches", {}, "envoy", "no keys"],
  [
    "an unknown host where Envoy fetches",
    { jwksUri: "https://a.test/keys" },
    "envoy",
    remote("https://a.test/keys", 443, "a.test"),
  ],
];

describe("the keys of an issuer", () => {
  for (const [name, rule, remoteJwks, expected] of cases)
    it(`are those of ${name}`, () => assert.deepEqual(sourceOf(rule, remoteJwks), expected));
  it("are fetched within the time of the rule", () => {
    const source = sourceOf({ jwksUri: `http://${host}/`, timeout: "2s" }) as { httpUri: { timeout: string } };
    assert.equal(source.httpUri.timeout, "2s");
  });
});
