/** Ingresses: their form for everybody's, what is not followed for those that the mesh serves. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemText } from "../problem.ts";
import { createValidator } from "../validate-object.ts";
import { describeRules } from "./rules.fixture.ts";
import type { ServedIngress } from "./shared/served-kinds.ts";

const backend = { service: { name: "a", port: { number: 80 } } };
const path = { path: "/", pathType: "Prefix", backend };
const host = (name: string, ...paths: readonly object[]) => ({ rules: [{ host: name, http: { paths } }] });
const one = (more: object) => host("a.example", { ...path, ...more });
const specific = (text: string) => one({ path: text, pathType: "ImplementationSpecific" });
const served = (spec: object) => ({ ingressClassName: "istio", ...spec });

describeRules("networking.k8s.io/v1", "Ingress", [
  ["leads somewhere", { defaultBackend: backend }, {}, /^spec: needs rules or a defaultBackend/],
  [
    "has host names",
    host("*.a.example", path),
    host("10.0.0.1", path),
    /^spec\.rules\[0\]\.host: "10\.0\.0\.1" is an address/,
  ],
  ["has host names in lower case", host("a.example", path), host("A.example", path), /is no DNS name in lower case/],
  [
    "has hosts of TLS that are names",
    { ...one({}), tls: [{ hosts: ["a.example"] }] },
    { ...one({}), tls: [{ hosts: ["a b"] }] },
    /^spec\.tls\[0\]\.hosts\[0\]: "a b" is no DNS name/,
  ],
  [
    "has paths that begin with a slash",
    one({}),
    one({ path: "a" }),
    /^spec\.rules\[0\]\.http\.paths\[0\]\.path: "a" does not begin with \//,
  ],
  ["has paths without dots", one({ path: "/a.b" }), one({ path: "/a/../b" }), /\.path: must not contain \/\.\.\//],
  [
    "has a port by name or number",
    one({}),
    one({ backend: { service: { name: "a", port: {} } } }),
    /\.backend\.service\.port: needs a name or a number, not both/,
  ],
  ["has one back end", one({}), one({ backend: {} }), /\.backend: needs a service/],
  [
    "is judged by what the mesh follows where the mesh serves it",
    { ...one({ backend: { resource: { kind: "Bucket", name: "a" } } }), ingressClassName: "nginx" },
    served(one({ backend: { resource: { kind: "Bucket", name: "a" } } })),
    /^warning .*\.backend\.resource: is not followed/,
  ],
  [
    "has a Secret for TLS",
    served({ ...one({}), tls: [{ hosts: ["a.example"], secretName: "a" }] }),
    served({ ...one({}), tls: [{ hosts: ["a.example"] }] }),
    /^warning spec\.tls\[0\]\.secretName: is empty: these hosts are not served with TLS/,
  ],
  [
    "says whom a certificate is for",
    served({ ...one({}), tls: [{ hosts: ["a.example"], secretName: "a" }] }),
    served({ ...one({}), tls: [{ secretName: "a" }] }),
    /^warning spec\.tls\[0\]\.hosts: is empty/,
  ],
  [
    "has paths for each host",
    served(one({})),
    served({ rules: [{ host: "a.example" }] }),
    /^warning spec\.rules\[0\]\.http: is empty/,
  ],
  [
    "has wildcards of one label elsewhere",
    served(one({})),
    served(host("*.example", path)),
    /^warning spec\.rules\[0\]\.host: is matched by names of any number of labels/,
  ],
  [
    "has no expressions",
    served(specific("/a/.*")),
    served(specific("/a/[0-9]+")),
    /^warning .*\.path: "\/a\/\[0-9\]\+" is compared as it is/,
  ],
  [
    "has each path once",
    served(one({})),
    served(host("a.example", path, path)),
    /^warning spec\.rules\[0\]\.http\.paths\[1\]: no request comes here: spec\.rules\[0\]\.http\.paths\[0\] has/,
  ],
]);

describe("Ingress", () => {
  const ingress = (metadata: object, spec: object) => ({
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", spec },
    metadata: { name: "a", namespace: "b", ...metadata },
  });
  const rewritten = { "nginx.ingress.kubernetes.io/rewrite-target": "/" };

  it("has annotations of other controllers in vain", () => {
    const annotations = { ...rewritten, "kubernetes.io/ingress.class": "istio" };
    const texts = createValidator()(ingress({ annotations }, one({}))).map(problemText);
    assert.equal(texts.length, 1);
    assert.match(texts[0] ?? "", /^metadata\.annotations\[nginx.*rewrite-target\]: has no effect/);
  });

  it("is served by what the mesh knows of classes, where it knows them", () => {
    const asked: ServedIngress[] = [];
    const isServedIngress = (of: ServedIngress) => {
      asked.push(of);
      return of.className === "ours";
    };
    const validate = createValidator({ served: { isServedIngress, gatewayRole: () => undefined } });
    const spec = { ...one({}), ingressClassName: "ours" };
    assert.equal(validate(ingress({ annotations: rewritten }, spec)).length, 1);
    assert.deepEqual(asked, [{ annotation: undefined, className: "ours" }]);
  });

  it("is refused with a wrong type, and a missing pathType", () => {
    const found = (spec: object) => createValidator()(ingress({}, spec)).map(problemText);
    assert.match(
      found(host("a.example", { path: "/", backend }))[0] ?? "",
      /^spec\.rules\[0\]\.http\.paths\[0\]\.pathType: Required value/,
    );
    assert.match(found({ rules: "a" })[0] ?? "", /^spec\.rules: /);
  });
});
