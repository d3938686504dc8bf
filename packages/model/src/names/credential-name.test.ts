import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type CredentialName,
  type CredentialReference,
  credentialReferences,
  parseCredentialName,
  secretName,
} from "../index.ts";

const secret = (more: Partial<CredentialName>): CredentialName => ({
  scheme: "kubernetes",
  kind: "Secret",
  namespace: "",
  object: "pair",
  isRoot: false,
  ...more,
});

describe("names of SDS resources", () => {
  const good: readonly (readonly [string, CredentialName])[] = [
    ["kubernetes://pair", secret({})],
    ["kubernetes://shop/pair", secret({ namespace: "shop" })],
    ["kubernetes://pair-cacert", secret({ object: "pair-cacert", isRoot: true })],
    ["kubernetes-gateway://shop/pair", secret({ scheme: "kubernetes-gateway", namespace: "shop" })],
    [
      "configmap://shop/roots",
      { scheme: "configmap", kind: "ConfigMap", namespace: "shop", object: "roots", isRoot: true },
    ],
  ];
  for (const [text, parsed] of good) it(`${text} is read`, () => assert.deepEqual(parseCredentialName(text), parsed));

  const long = "x".repeat(254);
  for (const text of [
    ...["", "default", "ROOTCA", "kubernetes://", "kubernetes:///pair", "kubernetes://shop/", "kubernetes://a/b/c"],
    ...[
      "kubernetes-gateway://pair",
      "configmap://roots",
      "file://shop/pair",
      "KUBERNETES://pair",
      " kubernetes://pair",
    ],
    ...["kubernetes://../pair", "kubernetes://shop/..", "kubernetes://a%2fb", "kubernetes://a b", "kubernetes://a\n"],
    ...["kubernetes://a\u0000b", "kubernetes://shop/pair\n", `kubernetes://${long}`, `kubernetes://${long}/pair`],
    "kubernetes://x\nkubernetes://pair",
  ])
    it(`${JSON.stringify(text).slice(0, 60)} is none`, () => assert.equal(parseCredentialName(text), undefined));

  for (const [credential, name] of [
    ["pair", "kubernetes://pair"],
    ["shop/pair", "kubernetes://shop/pair"],
    ["kubernetes-gateway://shop/pair", "kubernetes-gateway://shop/pair"],
    ["builtin://", "default"],
    ["invalid://shop/pair", "invalid://"],
    ["other://pair", "kubernetes://other://pair"],
    ["sds://pair", "kubernetes://pair"],
  ] as const)
    it(`the credential ${credential} is asked for as ${name}`, () => assert.equal(secretName(credential), name));
});

describe("references to credentials", () => {
  const named = (name: string, namespace?: string, kind: "Secret" | "ConfigMap" = "Secret"): CredentialReference => ({
    ...{ kind, namespace, name },
    isOfProxy: namespace === undefined,
  });
  const cases: readonly (readonly [string, unknown, readonly CredentialReference[]])[] = [
    [
      "servers of a Gateway",
      { servers: [{ tls: { credentialName: "a", credentialNames: ["b", "c"], caCertCredentialName: "d-cacert" } }] },
      ["a", "b", "c", "d"].map((name) => named(name)),
    ],
    ["a name with a scheme", { tls: { credentialName: "kubernetes-gateway://priv/a" } }, [named("a", "priv")]],
    ["an empty name", { tls: { credentialName: "" } }, []],
    ["an Ingress", { tls: [{ secretName: "a" }] }, [{ ...named("a"), isOfProxy: false }]],
    ["a WasmPlugin", { imagePullSecret: "a" }, [named("a")]],
    [
      "a name with a namespace",
      { credentialName: "kubernetes://shop/a" },
      [{ ...named("a", "shop"), isOfProxy: true }],
    ],
    [
      "listeners of the Gateway API",
      { listeners: [{ tls: { certificateRefs: [{ name: "a" }, { kind: "Secret", name: "b", namespace: "priv" }] } }] },
      [named("a", "shop"), named("b", "priv")],
    ],
    [
      "roots of clients and back ends",
      { validation: { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "roots" }] } },
      [named("roots", "shop", "ConfigMap")],
    ],
    ["a client certificate", { tls: { backend: { clientCertificateRef: { name: "a" } } } }, [named("a", "shop")]],
    ["other kinds", { certificateRefs: [{ kind: "Certificate", name: "a" }, { name: 7 }, "text"] }, []],
    [
      "SDS names in the patch of an EnvoyFilter",
      {
        configPatches: [
          { patch: { value: { sds: [{ name: "kubernetes://a" }, { name: "configmap://n/b-cacert" }] } } },
        ],
      },
      [named("a"), named("b", "n", "ConfigMap")],
    ],
    ["texts that are no names", { credentialName: "a/b", description: "see kubernetes://a", host: "a" }, []],
    ["nothing", undefined, []],
  ];
  for (const [what, spec, expected] of cases)
    it(`of ${what} are found`, () => assert.deepEqual(credentialReferences("shop", spec), expected));
});
