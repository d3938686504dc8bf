/** TLS of ingress ports and of servers of Gateways: modes, sources of certificates, versions and suites. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { create, decode, type MessageInitShape } from "@flotilla/proto";
import { QuicDownstreamTransportSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/quic/v3/quic_transport_pb";
import { TlsParameters_TlsProtocol as Protocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import { DownstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import {
  MeshConfig_TLSConfig_TLSProtocol as DefaultVersion,
  MeshConfig_TLSConfigSchema,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  ServerTLSSettings_TLSmode as Mode,
  ServerTLSSettingsSchema,
  ServerTLSSettings_TLSProtocol as Version,
} from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { type OwnTlsInputs, ownQuicTls, ownTls } from "./own-tls.ts";

type Settings = MessageInitShape<typeof ServerTLSSettingsSchema>;
type Defaults = MessageInitShape<typeof MeshConfig_TLSConfigSchema>;

const files = { serverCertificate: "/cert", privateKey: "/key", caCertificates: "/ca" };

const noFiles = { serverCertificate: "", privateKey: "", caCertificates: "" };

function inputsOf(settings: Settings, defaults?: Defaults, onDemand = false): OwnTlsInputs {
  return {
    settings: create(ServerTLSSettingsSchema, { mode: Mode.SIMPLE, ...files, ...settings }),
    defaults: defaults && create(MeshConfig_TLSConfigSchema, defaults),
    compliance: "",
    files: { certificate: "", key: "", root: "", server: "sds-grpc" },
    onDemand,
    exchangesMetadata: true,
  };
}

function contextOf(settings: Settings, defaults?: Defaults, onDemand = false) {
  const { name, configType } = ownTls(inputsOf(settings, defaults, onDemand));
  assert.equal(name, "envoy.transport_sockets.tls");
  assert.ok(configType.case === "typedConfig");
  return decode(DownstreamTlsContextSchema, configType.value.value);
}

test("the workload's own certificate is the agent's, also by its name as a credential", () => {
  const { commonTlsContext } = contextOf({ ...noFiles, credentialName: "builtin://" }, undefined, true);
  assert.deepEqual(
    commonTlsContext?.tlsCertificateSdsSecretConfigs.map(({ name }) => name),
    ["default"],
  );
});

test("over QUIC certificates of clients are checked, where they come by a Secret, and not asked for", () => {
  const checks = (settings: Settings) => {
    const { configType } = ownQuicTls(inputsOf(settings));
    assert.ok(configType.case === "typedConfig");
    const { downstreamTlsContext } = decode(QuicDownstreamTransportSchema, configType.value.value);
    assert.equal(downstreamTlsContext?.requireClientCertificate, false);
    return downstreamTlsContext.commonTlsContext?.validationContextType.case !== undefined;
  };
  const secret = { ...noFiles, credentialName: "a" };
  assert.deepEqual([checks(secret), checks({ ...secret, mode: Mode.MUTUAL })], [false, true]);
  assert.deepEqual([checks({ mode: Mode.MUTUAL }), checks({ mode: Mode.OPTIONAL_MUTUAL })], [false, true]);
  assert.equal(checks({ mode: Mode.ISTIO_MUTUAL }), false);
});

describe("certificates on demand", () => {
  const selectorOf = (settings: Settings) => {
    const { commonTlsContext } = contextOf({ ...noFiles, ...settings }, undefined, true);
    const { customTlsCertificateSelector: selector, tlsCertificateSdsSecretConfigs: before } = commonTlsContext ?? {};
    return [selector?.name, before?.map(({ name }) => name)];
  };
  const selector = "envoy.tls.certificate_selectors.on_demand_secret";

  it("come by Envoy's selector where a server has one Secret", () => {
    assert.deepEqual(selectorOf({ credentialName: "a" }), [selector, []]);
    assert.deepEqual(selectorOf({ credentialName: "a", mode: Mode.MUTUAL }), [selector, []]);
  });

  it("are there before it listens where a server has several, or the workload's own", () => {
    assert.deepEqual(selectorOf({ credentialNames: ["a", "b"] }), [undefined, ["kubernetes://a", "kubernetes://b"]]);
    assert.deepEqual(selectorOf({ credentialName: "a", mode: Mode.ISTIO_MUTUAL }), [undefined, ["default"]]);
  });
});

const sources: readonly {
  readonly name: string;
  readonly settings: Settings;
  readonly certificates: readonly string[];
  /** Undefined: clients are not checked. */
  readonly root?: string;
  readonly requiresClients?: boolean;
}[] = [
  { name: "a Secret", settings: { credentialName: "web" }, certificates: ["kubernetes://web"] },
  {
    name: "a Secret and its roots",
    settings: { credentialName: "web", mode: Mode.MUTUAL },
    certificates: ["kubernetes://web"],
    root: "kubernetes://web-cacert",
    requiresClients: true,
  },
  {
    name: "several Secrets, the first of which has the roots",
    settings: { credentialNames: ["rsa", "ec"], mode: Mode.OPTIONAL_MUTUAL },
    certificates: ["kubernetes://rsa", "kubernetes://ec"],
    root: "kubernetes://rsa-cacert",
  },
  {
    name: "roots of another place",
    settings: {
      credentialName: "kubernetes-gateway://shop/web",
      caCertCredentialName: "configmap://shop/clients-cacert",
      mode: Mode.MUTUAL,
    },
    certificates: ["kubernetes-gateway://shop/web"],
    root: "configmap://shop/clients-cacert",
    requiresClients: true,
  },
  {
    name: "a Secret, and roots of a ConfigMap by its own name",
    settings: { credentialName: "web", caCertCredentialName: "configmap://shop/clients", mode: Mode.MUTUAL },
    certificates: ["kubernetes://web"],
    root: "configmap://shop/clients",
    requiresClients: true,
  },
  {
    name: "a Secret, and roots of an SDS server by its own name",
    settings: { credentialName: "web", caCertCredentialName: "sds://clients", mode: Mode.MUTUAL },
    certificates: ["kubernetes://web"],
    root: "kubernetes://clients",
    requiresClients: true,
  },
  {
    name: "a Secret, and roots of another Secret",
    settings: { credentialName: "web", caCertCredentialName: "clients", mode: Mode.MUTUAL },
    certificates: ["kubernetes://web"],
    root: "kubernetes://clients-cacert",
    requiresClients: true,
  },
  {
    name: "the agent, the roots too, by the name of the workload's own",
    settings: { credentialName: "builtin://", mode: Mode.MUTUAL },
    certificates: ["default"],
    root: "ROOTCA",
    requiresClients: true,
  },
  {
    name: "files of several certificates",
    settings: { tlsCertificates: [{ serverCertificate: "/a", privateKey: "/b" }, { serverCertificate: "/c" }] },
    certificates: ["file-cert:/a~/b", "file-cert:/c~"],
  },
  {
    name: "the workload's own certificate",
    settings: { mode: Mode.ISTIO_MUTUAL },
    certificates: ["default"],
    root: "ROOTCA",
    requiresClients: true,
  },
];

describe("certificates of a server", () => {
  for (const { name, settings, certificates, root, requiresClients = false } of sources)
    it(`come from ${name}`, () => {
      const { requireClientCertificate, commonTlsContext } = contextOf({ ...noFiles, ...settings });
      const { tlsCertificateSdsSecretConfigs: found = [], validationContextType: validation } = commonTlsContext ?? {};
      assert.deepEqual(
        found.map((secret) => secret.name),
        certificates,
      );
      const combined = validation?.case === "combinedValidationContext" ? validation.value : undefined;
      assert.equal(combined?.validationContextSdsSecretConfig?.name, root);
      assert.equal(requireClientCertificate, requiresClients);
    });
});

test("files come from the socket beside the proxy that serves them, and the agent's certificates from the agent", () => {
  const socket = { certificate: "/own", key: "/own-key", root: "", server: "sds-files-grpc" } as const;
  const serversOf = (settings: Settings, own: OwnTlsInputs["files"] = socket) => {
    const { configType } = ownTls({ ...inputsOf(settings), files: own });
    assert.ok(configType.case === "typedConfig");
    const { commonTlsContext } = decode(DownstreamTlsContextSchema, configType.value.value);
    const { tlsCertificateSdsSecretConfigs: certificates = [], validationContextType } = commonTlsContext ?? {};
    const { value } = validationContextType ?? {};
    const root = value !== undefined && "validationContextSdsSecretConfig" in value ? [value] : [];
    return [...certificates, ...root.map((one) => one.validationContextSdsSecretConfig)].map((secret) => {
      const source = secret?.sdsConfig?.configSourceSpecifier;
      const [service] = source?.case === "apiConfigSource" ? source.value.grpcServices : [];
      return service?.targetSpecifier.case === "envoyGrpc" ? service.targetSpecifier.value.clusterName : "ads";
    });
  };
  assert.deepEqual(serversOf({ mode: Mode.MUTUAL }), ["sds-files-grpc", "sds-files-grpc"]);
  assert.deepEqual(serversOf({ ...noFiles, mode: Mode.ISTIO_MUTUAL }), ["sds-files-grpc", "sds-grpc"]);
  assert.deepEqual(serversOf({ ...noFiles, credentialName: "web" }), ["ads"]);
});

const suite = "ECDHE-RSA-AES128-GCM-SHA256";
const parameters: readonly {
  readonly name: string;
  readonly settings?: Settings;
  readonly defaults?: Defaults;
  /** Minimum, maximum, suites, curves. */
  readonly want?: readonly unknown[];
}[] = [
  { name: "Envoy's defaults" },
  { name: "Envoy's defaults where the mesh states nothing", defaults: {} },
  {
    name: "the versions of the Sidecar",
    settings: { minProtocolVersion: Version.TLSV1_2, maxProtocolVersion: Version.TLSV1_3 },
    defaults: { minProtocolVersion: DefaultVersion.TLSV1_3 },
    want: [Protocol.TLSv1_2, Protocol.TLSv1_3, [], []],
  },
  {
    name: "a largest version alone",
    settings: { maxProtocolVersion: Version.TLSV1_2 },
    want: [Protocol.TLS_AUTO, Protocol.TLSv1_2, [], []],
  },
  {
    name: "the smallest version of the mesh, 1.2",
    defaults: { minProtocolVersion: DefaultVersion.TLSV1_2 },
    want: [Protocol.TLSv1_2, Protocol.TLS_AUTO, [], []],
  },
  {
    name: "the smallest version of the mesh, 1.3",
    defaults: { minProtocolVersion: DefaultVersion.TLSV1_3 },
    want: [Protocol.TLSv1_3, Protocol.TLS_AUTO, [], []],
  },
  {
    name: "suites and curves of the Sidecar, unknown suites left out",
    settings: { cipherSuites: [suite, "NONSENSE"], ecdhCurves: ["P-256"] },
    defaults: { cipherSuites: ["ECDHE-RSA-AES256-GCM-SHA384"], ecdhCurves: ["P-521"] },
    want: [Protocol.TLS_AUTO, Protocol.TLS_AUTO, [suite], ["P-256"]],
  },
  {
    name: "Envoy's defaults for the workload's own certificates, whatever is stated",
    settings: { mode: Mode.ISTIO_MUTUAL, minProtocolVersion: Version.TLSV1_3 },
    defaults: { minProtocolVersion: DefaultVersion.TLSV1_3, cipherSuites: [suite] },
  },
  {
    name: "suites and curves of the mesh",
    defaults: { cipherSuites: [suite], ecdhCurves: ["P-521"] },
    want: [Protocol.TLS_AUTO, Protocol.TLS_AUTO, [suite], ["P-521"]],
  },
];

describe("TLS of an ingress port", () => {
  it("serves the certificate of the files and asks for none", () => {
    const { requireClientCertificate, commonTlsContext } = contextOf({});
    assert.equal(requireClientCertificate, false);
    assert.deepEqual(commonTlsContext?.alpnProtocols, ["h2", "http/1.1"]);
    const [secret] = commonTlsContext.tlsCertificateSdsSecretConfigs;
    assert.equal(secret?.name, "file-cert:/cert~/key");
    assert.equal(commonTlsContext.validationContextType.case, undefined);
  });
  it("asks for a certificate of the files' authority, with names and revocations", () => {
    const settings = { mode: Mode.MUTUAL, subjectAltNames: ["spiffe://a", "b"], caCrl: "/crl" };
    const { requireClientCertificate, commonTlsContext } = contextOf(settings);
    assert.equal(requireClientCertificate, true);
    const validation = commonTlsContext?.validationContextType;
    assert.ok(validation?.case === "combinedValidationContext");
    const { defaultValidationContext: own, validationContextSdsSecretConfig: secret } = validation.value;
    assert.equal(secret?.name, "file-root:/ca");
    assert.deepEqual(
      own?.matchSubjectAltNames.map(({ matchPattern }) => [matchPattern.case, matchPattern.value]),
      [
        ["exact", "spiffe://a"],
        ["exact", "b"],
      ],
    );
    assert.deepEqual(own.crl?.specifier, { case: "filename", value: "/crl" });
  });
  it("takes the revocations of its Secret, and no file of them", () => {
    const settings = { ...noFiles, credentialName: "web", mode: Mode.MUTUAL, caCrl: "/crl" };
    const validation = contextOf(settings).commonTlsContext?.validationContextType;
    assert.ok(validation?.case === "combinedValidationContext");
    assert.equal(validation.value.defaultValidationContext?.crl, undefined);
  });
  it("has no list of revocations that was not given", () => {
    const validation = contextOf({ mode: Mode.MUTUAL }).commonTlsContext?.validationContextType;
    assert.ok(validation?.case === "combinedValidationContext");
    assert.equal(validation.value.defaultValidationContext?.crl, undefined);
  });
  for (const { name, settings = {}, defaults, want } of parameters)
    it(`has ${name}`, () => {
      const tls = contextOf(settings, defaults).commonTlsContext?.tlsParams;
      const found = tls && [
        tls.tlsMinimumProtocolVersion,
        tls.tlsMaximumProtocolVersion,
        tls.cipherSuites,
        tls.ecdhCurves,
      ];
      assert.deepEqual(found, want);
    });
});

it("callers of the mesh may exchange metadata before the first byte, others may not", () => {
  const offered = (mode: Mode) => contextOf({ ...noFiles, credentialName: "a", mode }).commonTlsContext?.alpnProtocols;
  assert.deepEqual(offered(Mode.ISTIO_MUTUAL), ["istio-peer-exchange", "h2", "http/1.1"]);
  assert.deepEqual(offered(Mode.MUTUAL), ["h2", "http/1.1"]);
});

describe("client certificates", () => {
  const checked = (settings: Settings) => {
    const { case: kind, value } = contextOf(settings).commonTlsContext?.validationContextType ?? {};
    assert.ok(kind === "combinedValidationContext");
    return value?.defaultValidationContext;
  };
  const secret = { ...noFiles, credentialName: "web", mode: Mode.OPTIONAL_MUTUAL };

  it("that no CA signed are let in where the server allows it", () => {
    assert.equal(checked(secret)?.trustChainVerification, 0);
    assert.equal(checked({ ...secret, insecureSkipVerify: true })?.trustChainVerification, 1);
    assert.equal(checked({ mode: Mode.MUTUAL, insecureSkipVerify: true })?.trustChainVerification, 1);
  });

  it("are bound to keys and hashes where Secrets are used, as istiod has it", () => {
    const bound = { verifyCertificateSpki: ["key"], verifyCertificateHash: ["hash"] };
    const { verifyCertificateSpki, verifyCertificateHash } = checked({ ...secret, ...bound }) ?? {};
    assert.deepEqual([verifyCertificateSpki, verifyCertificateHash], [["key"], ["hash"]]);
    assert.deepEqual(checked({ mode: Mode.MUTUAL, ...bound })?.verifyCertificateSpki, []);
  });
});
