/** Where the keys of an issuer come from, by its rule and by what is known of the host that it names. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type IssuerKeysSpec, issuerKeysKey, issuerKeysSource } from "@flotilla/auth";
import type { Finding } from "@flotilla/incremental";
import { anyToJson, fromJson } from "@flotilla/proto";
import { JWTRuleSchema } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import type { View } from "../../snapshot/view.ts";
import { jwtFilters } from "./jwt.ts";

const host = "idp.shop.svc.cluster.local";

interface Source {
  readonly localJwks?: { readonly inlineString: string };
  readonly remoteJwks?: unknown;
}

interface Fetching {
  readonly mode?: string;
  /** The control plane's fetched keys of the source. */
  readonly fetched?: Partial<IssuerKeysSpec>;
}

/** The source in words: keys in the rule, a cluster and its bounds, or keys that nothing was signed by. */
function sourceOf(rule: Readonly<Record<string, string>>, { mode = "istiod", fetched }: Fetching = {}): unknown {
  const source = issuerKeysSource(rule);
  const reports: Finding[] = [];
  const view = {
    proxy: { type: "sidecar" },
    read: () => [{ rule: fromJson(JWTRuleSchema, rule), object: "RequestAuthentication/shop/a" }],
    config: (_kind: string, _namespace: string, name: string) =>
      fetched !== undefined && source !== undefined && name === issuerKeysKey(source).name
        ? { spec: { source, ...fetched } }
        : undefined,
    report: (finding: Finding) => void reports.push(finding),
    servicesByHost: (name: string) => (name === host ? [{ hostname: name }] : []),
    feature: (name: string) => (name === "remoteJwks" ? mode : assert.fail(name)),
  } as unknown as View;
  const [filter = assert.fail("no filter")] = jwtFilters(view, "");
  assert.ok(filter.configType.case === "typedConfig");
  const { providers } = anyToJson(filter.configType.value) as unknown as {
    providers: Readonly<Record<string, Source>>;
  };
  const { localJwks, remoteJwks } = providers["origins-0"] ?? assert.fail("no provider");
  if (localJwks === undefined) return remoteJwks;
  const keys = /"n": "7fFOc6bG/.test(localJwks.inlineString) ? "no keys" : localJwks.inlineString;
  return [keys, ...reports.map(({ object, message }) => `${object}: ${message}`)].join("; ");
}

const remote = (uri: string, port: number, hostname = host) => ({
  httpUri: { uri, cluster: `outbound|${port}||${hostname}`, timeout: "5s" },
  cacheDuration: "300s",
});

const known = { issuer: "i", jwksUri: `http://${host}/keys` };
const unknown = { issuer: "i", jwksUri: "https://a.test/keys" };
const away = { error: "cannot be asked: ECONNREFUSED", isUnreachable: true };
const refused = "RequestAuthentication/shop/a: no keys of issuer i, tokens are refused: https://a.test/keys";
const kept = "RequestAuthentication/shop/a: no keys of issuer i, the last good ones stay in force: https://a.test/keys";

const cases: readonly (readonly [string, Readonly<Record<string, string>>, Fetching | undefined, unknown])[] = [
  ["keys of the rule", { ...known, jwks: "{}" }, { fetched: { jwks: "others" } }, "{}"],
  ["no keys and no URI", {}, undefined, "no keys"],
  ["a URI that is none", { jwksUri: "keys" }, { mode: "envoy" }, "no keys"],
  ["a URI before the first fetch", unknown, undefined, "no keys"],
  ["a URI that was fetched", unknown, { fetched: { jwks: "fetched" } }, "fetched"],
  ["an issuer that was asked for its URI", { issuer: "https://i.test" }, { fetched: { jwks: "found" } }, "found"],
  ["a URI that cannot be fetched", unknown, { fetched: away }, `no keys; ${refused} cannot be asked: ECONNREFUSED`],
  [
    "a URI that cannot be fetched any more",
    unknown,
    { fetched: { ...away, jwks: "good" } },
    `good; ${kept} cannot be asked: ECONNREFUSED`,
  ],
  ["a service of the mesh before the first fetch", known, undefined, "no keys"],
  ["a service of the mesh that was fetched", known, { fetched: { jwks: "fetched" } }, "fetched"],
  ["a service that only proxies reach", known, { fetched: away }, remote(`http://${host}/keys`, 80)],
  [
    "a service that answers with nonsense",
    known,
    { fetched: { error: "answers with what is no JSON" } },
    `no keys; RequestAuthentication/shop/a: no keys of issuer i, tokens are refused: http://${host}/keys answers with what is no JSON`,
  ],
  ["a service of the mesh where proxies fetch", known, { mode: "hybrid" }, remote(`http://${host}/keys`, 80)],
  ["the same by its old name", known, { mode: "true" }, remote(`http://${host}/keys`, 80)],
  ["another host where proxies fetch", unknown, { mode: "hybrid", fetched: { jwks: "fetched" } }, "fetched"],
  ["one on TLS", { jwksUri: `https://${host}/` }, { mode: "envoy" }, remote(`https://${host}/`, 443)],
  ["one on a port", { jwksUri: `https://${host}:8443/` }, { mode: "envoy" }, remote(`https://${host}:8443/`, 8443)],
  ["an unknown host without a URI where Envoy fetches", {}, { mode: "envoy" }, "no keys"],
  ["an unknown host where Envoy fetches", unknown, { mode: "envoy" }, remote("https://a.test/keys", 443, "a.test")],
];

describe("the keys of an issuer", () => {
  for (const [name, rule, fetching, expected] of cases)
    it(`are those of ${name}`, () => assert.deepEqual(sourceOf(rule, fetching), expected));
  it("are fetched within the time of the rule", () => {
    const source = sourceOf({ ...known, timeout: "2s" }, { mode: "envoy" }) as { httpUri: { timeout: string } };
    assert.equal(source.httpUri.timeout, "2s");
  });
});
