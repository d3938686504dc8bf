/** TLS of listeners: the mode that options and roots ask for, the certificates that are used, and why one cannot be. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ServerTLSSettings_TLSmode as Mode } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { ClientValidation, ListenerTls, ReferenceGrantSpec } from "./gateway-spec.ts";
import { clientValidation, listenerTls } from "./listener-tls.ts";

const grant: ReferenceGrantSpec = {
  from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "infra" }],
  to: [
    { kind: "Secret", name: "shared" },
    { kind: "ConfigMap", name: "shared" },
  ],
};
const lookups = {
  certificateProblem: (namespace: string, name: string) => (name === "lost" ? `no ${namespace}/${name}` : undefined),
  rootsProblem: ({ kind, namespace, name }: { kind: string; namespace: string; name: string }) =>
    name === "lost" ? `no ${kind} ${namespace}/${name}` : undefined,
  grantsIn: (namespace: string) =>
    namespace === "vault"
      ? [
          {
            ...{ key: { kind: "ReferenceGrant", namespace, name: "g" }, labels: {}, annotations: {} },
            ...{ creationTimeMs: 0, spec: grant },
          },
        ]
      : [],
};

const secrets = (...names: readonly string[]) => ({ certificateRefs: names.map((name) => ({ name })) });
const found = (tls: ListenerTls, validation?: ClientValidation) =>
  listenerTls({ name: "l", port: 443, tls }, { kind: "Gateway", namespace: "infra" }, validation, lookups);
const roots = (ref: object, mode?: string): ClientValidation => ({
  caCertificateRefs: [ref],
  ...(mode !== undefined && { mode }),
});
const own = roots({ kind: "ConfigMap", name: "roots" });
const lenient = roots({ kind: "ConfigMap", name: "roots" }, "AllowInsecureFallback");
const asked = (mode: string) => ({ ...secrets("a"), options: { "gateway.istio.io/tls-terminate-mode": mode } });

describe("the mode of a listener's TLS", () => {
  const modes: readonly (readonly [string, ListenerTls, ClientValidation | undefined, Mode])[] = [
    ["a certificate alone: SIMPLE", secrets("a"), undefined, Mode.SIMPLE],
    ["roots: MUTUAL", secrets("a"), own, Mode.MUTUAL],
    ["roots with the insecure fallback: OPTIONAL_MUTUAL", secrets("a"), lenient, Mode.OPTIONAL_MUTUAL],
    ["MUTUAL by the option", asked("MUTUAL"), undefined, Mode.MUTUAL],
    ["OPTIONAL_MUTUAL by the option", asked("OPTIONAL_MUTUAL"), own, Mode.OPTIONAL_MUTUAL],
    ["ISTIO_MUTUAL by the option", asked("ISTIO_MUTUAL"), undefined, Mode.ISTIO_MUTUAL],
    ["ISTIO_SIMPLE by the option", asked("ISTIO_SIMPLE"), undefined, Mode.SIMPLE],
    ["Passthrough", { mode: "Passthrough" }, undefined, Mode.PASSTHROUGH],
    [
      "Passthrough by SNI within the mesh, in any case of letters",
      { mode: "Passthrough", options: { "gateway.istio.io/listener-protocol": "Auto-PassThrough" } },
      undefined,
      Mode.AUTO_PASSTHROUGH,
    ],
  ];
  for (const [name, tls, validation, mode] of modes)
    it(name, () => assert.equal(found(tls, validation).tls?.mode, mode));
});

describe("the certificates of a listener", () => {
  it("are named as one, or as two", () => {
    assert.equal(found(secrets("a")).tls?.credentialName, "kubernetes-gateway://infra/a");
    const { credentialName, credentialNames } = found(secrets("a", "b")).tls ?? {};
    assert.deepEqual(
      [credentialName, credentialNames],
      ["", ["kubernetes-gateway://infra/a", "kubernetes-gateway://infra/b"]],
    );
  });
  it("are the mesh's own with ISTIO_SIMPLE, whatever else is named", () =>
    assert.equal(found(asked("ISTIO_SIMPLE")).tls?.credentialName, "builtin://"));
  it("are those that can be used, where one can", () =>
    assert.equal(found(secrets("lost", "b")).tls?.credentialName, "kubernetes-gateway://infra/b"));
  it("may stand in another namespace with a grant", () =>
    assert.equal(
      found({ certificateRefs: [{ name: "shared", namespace: "vault" }] }).tls?.credentialName,
      "kubernetes-gateway://vault/shared",
    ));

  const refusals: readonly (readonly [string, readonly object[], string, string])[] = [
    [
      "a missing one",
      [{ name: "lost" }],
      "InvalidCertificateRef",
      "invalid certificate reference //lost., no infra/lost",
    ],
    [
      "a ConfigMap",
      [{ kind: "ConfigMap", name: "a" }],
      "InvalidCertificateRef",
      "invalid certificate reference /ConfigMap/a., only secret is allowed",
    ],
    [
      "another group",
      [{ group: "x.io", name: "a", namespace: "n" }],
      "InvalidCertificateRef",
      "invalid certificate reference x.io//a.n, only secret is allowed",
    ],
    [
      "one of another namespace",
      [{ name: "own", namespace: "vault" }],
      "RefNotPermitted",
      'certificateRef own/vault not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?)',
    ],
    [
      "more than two",
      [{ name: "a" }, { name: "b" }, { name: "c" }],
      "InvalidCertificateRef",
      "TLS mode can only support up to 2 server certificates",
    ],
  ];
  for (const [name, certificateRefs, reason, message] of refusals)
    it(`are refused: ${name}`, () => {
      const { tls, problem } = found({ certificateRefs });
      assert.equal(tls, undefined);
      assert.deepEqual(problem?.resolvedRefs, { reason, message });
    });
});

describe("the roots for clients of a listener", () => {
  it("are named by their object, and skip verification only with the insecure fallback", () => {
    const shown = ({ kind, mode }: { kind: string; mode?: string }) => {
      const { tls, isInsecure } = found(secrets("a"), roots({ kind, name: "r" }, mode));
      return [tls?.caCertCredentialName, tls?.insecureSkipVerify, isInsecure];
    };
    assert.deepEqual(shown({ kind: "ConfigMap" }), ["configmap://infra/r-cacert", false, false]);
    assert.deepEqual(shown({ kind: "Secret", mode: "AllowInsecureFallback" }), [
      "kubernetes-gateway://infra/r-cacert",
      true,
      true,
    ]);
    assert.equal(found(secrets("a")).isInsecure, false);
  });
  it("may stand in another namespace with a grant", () =>
    assert.equal(
      found(secrets("a"), roots({ kind: "ConfigMap", name: "shared", namespace: "vault" })).tls?.caCertCredentialName,
      "configmap://vault/shared-cacert",
    ));

  const refusals: readonly (readonly [string, readonly object[], string, string])[] = [
    [
      "two",
      [
        { kind: "Secret", name: "a" },
        { kind: "Secret", name: "b" },
      ],
      "InvalidCACertificateRef",
      "only one caCertificateRef is supported",
    ],
    [
      "another kind",
      [{ kind: "Service", name: "a" }],
      "InvalidCACertificateKind",
      "invalid CA certificate reference /Service/a., only secret and configmap are allowed",
    ],
    [
      "another group",
      [{ group: "x.io", kind: "Secret", name: "a" }],
      "InvalidCACertificateKind",
      "invalid CA certificate reference x.io/Secret/a., only secret and configmap are allowed",
    ],
    [
      "missing ones",
      [{ kind: "Secret", name: "lost" }],
      "InvalidCACertificateRef",
      "invalid CA certificate reference /Secret/lost., no Secret infra/lost",
    ],
    [
      "those of another namespace",
      [{ kind: "Secret", name: "own", namespace: "vault" }],
      "RefNotPermitted",
      'caCertificateRef vault/own not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?)',
    ],
  ];
  for (const [name, caCertificateRefs, reason, message] of refusals)
    it(`are refused: ${name}`, () => {
      const { tls, problem } = found(secrets("a"), { caCertificateRefs });
      assert.equal(tls, undefined);
      assert.deepEqual(problem, {
        accepted: { reason: "NoValidCACertificate", message },
        resolvedRefs: { reason, message },
      });
    });
});

it("cipher suites are those of the option's list that Envoy has", () =>
  assert.deepEqual(
    found({ ...secrets("a"), options: { "gateway.istio.io/tls-cipher-suites": "ECDHE-RSA-AES128-GCM-SHA256, NONE" } })
      .tls?.cipherSuites,
    ["ECDHE-RSA-AES128-GCM-SHA256"],
  ));

it("the validation of a port counts before that of all ports, also when it is none", () => {
  const [all, one] = [roots({ name: "all" }), roots({ name: "one" })];
  const perPort = [{ port: 443, tls: { validation: one } }, { port: 8443 }];
  const of = (port: number) => clientValidation({ tls: { frontend: { default: { validation: all }, perPort } } }, port);
  assert.deepEqual([of(443), of(8443), of(80)], [one, undefined, all]);
  assert.equal(clientValidation({}, 443), undefined);
});
