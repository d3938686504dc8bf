import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { issuerKeysKey } from "@flotilla/auth";
import type { Config } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";

type Found = Readonly<Record<string, JsonObject>>;

/** The filter's configuration on requests that arrive for the workload. */
const jwtFilter = (...rules: readonly JsonObject[]) => jwtFilterOf(rules);

function jwtFilterOf(
  rules: readonly JsonObject[],
  others: readonly Config[] = [],
): { readonly providers: Found; readonly rules: unknown } | undefined {
  const core = aMesh(
    aService("idp", "shop"),
    aConfig("RequestAuthentication", "shop", "tokens", { jwtRules: [...rules] }),
    ...others,
  );
  const listener = resourceOf(core, aSidecar("shop"), typeUrl.listener, "virtualInbound");
  const text = JSON.stringify(listener);
  const managers = JSON.parse(text)["filterChains"] as { filters: { typedConfig: { httpFilters?: JsonObject[] } }[] }[];
  const filters = managers.flatMap(({ filters }) =>
    filters.flatMap(({ typedConfig }) => typedConfig.httpFilters ?? []),
  );
  return filters.find(({ name }) => name === "envoy.filters.http.jwt_authn")?.["typedConfig"] as never;
}

test("issuers are distinguished in order of their names", () => {
  const { providers } = jwtFilter({ issuer: "b", jwks: "{}" }, { issuer: "a", jwks: "{}" }) ?? {
    providers: {} as Found,
  };
  assert.deepEqual(
    Object.entries(providers).map(([name, { issuer }]) => `${name} ${issuer}`),
    ["origins-0 a", "origins-1 b"],
  );
});

test("a request without a token passes, one with a wrong token does not", () => {
  const rules = jwtFilter({ issuer: "a", jwks: "{}" })?.rules;
  const requirements = [{ providerName: "origins-0" }, { allowMissing: {} }];
  assert.deepEqual(rules, [{ match: { prefix: "/" }, requires: { requiresAny: { requirements } } }]);
});

test("without rules there is no filter", () => {
  assert.equal(jwtFilter(), undefined);
});

/**
 * A modulus of 2,048 bits from hashes of a text, with its first and last bit set. The text is the first in sequence whose number is composite
 * and has no factor below 65,537.
 */
function modulusWithoutOwner(): string {
  const hashes = Array.from({ length: 8 }, (_, at) =>
    createHash("sha256").update(`flotilla: a modulus without an owner 12 ${at}`).digest(),
  );
  const bits = Buffer.concat(hashes);
  bits.writeUInt8(bits.readUInt8(0) | 128, 0);
  bits.writeUInt8(bits.readUInt8(255) | 1, 255);
  return bits.toString("base64url");
}

test("keys are those that the control plane fetched; without any no token is taken", () => {
  const source = "http://idp.shop.svc.cluster.local/keys";
  const { namespace, name } = issuerKeysKey(source);
  const keysOf = (...objects: readonly Config[]) => {
    const found = jwtFilterOf([{ issuer: "a", jwksUri: source }], objects)?.providers["origins-0"];
    return (found?.["localJwks"] as { readonly inlineString: string } | undefined)?.inlineString ?? "";
  };
  assert.equal(keysOf(aConfig("IssuerKeys", namespace, name, { source, jwks: "fetched" })), "fetched");
  const { keys } = JSON.parse(keysOf()) as { readonly keys: readonly object[] };
  assert.deepEqual(keys, [{ kty: "RSA", e: "AQAB", n: modulusWithoutOwner() }]);
});

test("claims that hold several values in one text are split, those of Istio and those of the rule", () => {
  const { providers } = jwtFilter({ issuer: "a", jwks: "{}", spaceDelimitedClaims: ["groups", "scope"] }) ?? {
    providers: {} as Found,
  };
  const normalized = providers["origins-0"]?.["normalizePayloadInMetadata"];
  assert.deepEqual(normalized, { spaceDelimitedClaims: ["groups", "permission", "scope"] });
});

test("a provider has what its rule says of tokens and of what becomes of them", () => {
  const rule = {
    ...{ issuer: "a", jwks: "{}", audiences: ["x"], forwardOriginalToken: true, outputPayloadToHeader: "x-p" },
    ...{ fromHeaders: [{ name: "x-t", prefix: "T " }], fromParams: ["t"], fromCookies: ["c"] },
    outputClaimToHeaders: [{ header: "x-sub", claim: "sub" }],
  };
  const { jwksUri: _, ...found } = jwtFilter(rule)?.providers["origins-0"] ?? assert.fail("no provider");
  const { localJwks, normalizePayloadInMetadata, ...rest } = found as Record<string, unknown>;
  assert.ok(localJwks && normalizePayloadInMetadata);
  assert.deepEqual(rest, {
    ...{ issuer: "a", audiences: ["x"], forward: true, forwardPayloadHeader: "x-p", payloadInMetadata: "payload" },
    ...{ fromHeaders: [{ name: "x-t", valuePrefix: "T " }], fromParams: ["t"], fromCookies: ["c"] },
    claimToHeaders: [{ headerName: "x-sub", claimName: "sub" }],
  });
});

test("of several issuers one must be right, and none may be wrong", () => {
  const rules = jwtFilter({ issuer: "a", jwks: "{}" }, { issuer: "b", jwks: "{}" })?.rules;
  const names = [{ providerName: "origins-0" }, { providerName: "origins-1" }];
  const requirements = names.map((name) => ({ requiresAny: { requirements: [name, { allowMissing: {} }] } }));
  const requires = { requiresAny: { requirements: [...names, { requiresAll: { requirements } }] } };
  assert.deepEqual(rules, [{ match: { prefix: "/" }, requires }]);
});

test("a rule may demand its token", () => {
  const rules = jwtFilter({ issuer: "a", jwks: "{}", presence: "REQUIRED" })?.rules;
  assert.deepEqual(rules, [{ match: { prefix: "/" }, requires: { providerName: "origins-0" } }]);
});
