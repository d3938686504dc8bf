/** SDS: certificates, keys (for Envoy or an accelerator of the proxy's host) and roots that rules name, out of Secrets and ConfigMaps. */
import {
  type CredentialName,
  isBase64,
  type JsonObject,
  parseCredentialName,
  withoutRootSuffix,
} from "@flotilla/model";
import { create, type Duration, pack, typeUrl } from "@flotilla/proto";
import { CryptoMbPrivateKeyMethodConfigSchema } from "@flotilla/proto/contrib/envoy/extensions/private_key_providers/cryptomb/v3alpha/cryptomb_pb";
import { QatPrivateKeyMethodConfigSchema } from "@flotilla/proto/contrib/envoy/extensions/private_key_providers/qat/v3alpha/qat_pb";
import { type Secret, SecretSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { ownPart } from "../../snapshot/own-proxy-config.ts";
import { clustersToSearch, type SecretCluster, secretIn } from "../../snapshot/scope/cluster-secrets.ts";
import { isGranted } from "../../snapshot/scope/granted-secrets.ts";
import { query, type View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";

interface SecretInputs {
  readonly name: string;
  /** PEM in base64; empty for none. */
  readonly certificate: string;
  readonly key: string;
  readonly staple: string;
  readonly root: string;
  readonly revoked: string;
  /** Signs with the key in place of Envoy, which has the key within its configuration. */
  readonly provider: KeyProvider | undefined;
}

/** A resource that does not exist, is not complete or not granted is left out: listeners and clusters wait for it. */
export const secrets = createGenerator<SecretInputs, Secret>({
  typeUrl: typeUrl.secret,
  schema: SecretSchema,
  select: (view, name) => {
    const asked = parseCredentialName(name);
    if (asked === undefined) return undefined;
    const { scheme, kind, object, isRoot } = asked;
    const namespace = asked.namespace || view.proxy.namespace;
    const report = (message: string) => {
      const metric = "pilot_sds_certificate_errors_total";
      view.report({ metric, object: `${kind}/${namespace}/${object}`, message: `${name} ${message}` });
      return undefined;
    };
    const isForeign = scheme === "kubernetes" && namespace !== view.proxy.namespace;
    if (isForeign || !isGranted(view, asked, name)) return report("is asked for by a proxy that may not have it");
    const find = isRoot ? rootOf : keyPairOf;
    for (const cluster of clustersOf(view, asked, namespace)) {
      const found = find(view, name, { kind, cluster, namespace, object });
      if (found !== undefined) return found;
    }
    return report(`is asked for, and there are no ${isRoot ? "roots" : "certificate and key"}`);
  },
  build: ({ name, certificate, key, staple, root, revoked, provider }) =>
    create(SecretSchema, {
      name,
      type:
        root === ""
          ? {
              case: "tlsCertificate",
              value: {
                certificateChain: inline(certificate),
                ...(provider === undefined
                  ? { privateKey: inline(key) }
                  : { privateKeyProvider: withKey(provider, key) }),
                ...(staple !== "" && { ocspStaple: inline(staple) }),
              },
            }
          : {
              case: "validationContext",
              value: { trustedCa: inline(root), ...(revoked !== "" && { crl: inline(revoked) }) },
            },
    }),
});

interface KeyProvider {
  readonly providerName: "cryptomb" | "qat";
  readonly pollDelay: Duration;
  /** Envoy signs by itself where the host has no accelerator. */
  readonly fallback: boolean;
}

interface Place {
  readonly kind: "Secret" | "ConfigMap";
  readonly cluster: SecretCluster;
  readonly namespace: string;
  readonly object: string;
}

/** Gateways name Secrets, and ConfigMaps are those, of the cluster that the Gateways are of. */
function clustersOf(view: View, { scheme, object }: CredentialName, namespace: string): readonly SecretCluster[] {
  if (scheme !== "kubernetes") return [undefined];
  return clustersToSearch(view, namespace, [...new Set([object, withoutRootSuffix(object)])]);
}

const nothing = { certificate: "", key: "", staple: "", root: "", revoked: "", provider: undefined };

/** Keys of generic Secrets, or of the type `kubernetes.io/tls`, which alone have a staple. */
function keyPairOf(view: View, name: string, place: Place): SecretInputs | undefined {
  const data = dataOf(view, place) ?? {};
  for (const [cert, key, ocsp] of [
    ["cert", "key", ""],
    ["tls.crt", "tls.key", "tls.ocsp-staple"],
  ] as const) {
    const [certificate, secretKey] = [data[cert] ?? "", data[key] ?? ""];
    if (certificate !== "" && secretKey !== "")
      return {
        ...nothing,
        name,
        certificate,
        key: secretKey,
        staple: data[ocsp] ?? "",
        provider: view.read(ownKeyProvider),
      };
  }
  return undefined;
}

/**
 * Of the ProxyConfig that the proxy was started with, else of the mesh's. Envoy refuses a provider that waits no time between its polls.
 * Source: scenario gateways/key-providers.
 */
const ownKeyProvider = query<KeyProvider | undefined>("own-key-provider", ({ proxy, mesh }) => {
  const own = ownPart(proxy, "privateKeyProvider");
  const { case: providerName, value } = (own === undefined ? mesh.defaultConfig?.privateKeyProvider : own.value)
    ?.provider ?? { case: undefined };
  const pollDelay = value?.pollDelay;
  if (providerName === undefined || pollDelay === undefined) return undefined;
  if (pollDelay.seconds <= 0n && pollDelay.nanos <= 0) return undefined;
  return { providerName, pollDelay, fallback: value?.fallback ?? false };
});

/** A Secret of its own, whose name ends in `-cacert`, hides the one with the key pair. */
function rootOf(view: View, name: string, place: Place): SecretInputs | undefined {
  const { kind, object } = place;
  const own = kind === "Secret" ? dataOf(view, place) : undefined;
  const data = own ?? dataOf(view, { ...place, object: withoutRootSuffix(object) }) ?? {};
  for (const [ca, crl] of [
    ["cacert", "crl"],
    ["ca.crt", "ca.crl"],
  ] as const) {
    const root = data[ca] ?? "";
    const encode = (text: string) => (kind === "ConfigMap" ? encodeText(text) : text);
    if (root !== "") return { ...nothing, name, root: encode(root), revoked: encode(data[crl] ?? "") };
  }
  return undefined;
}

function dataOf(view: View, { kind, cluster, namespace, object }: Place): Readonly<Record<string, string>> | undefined {
  const config =
    kind === "Secret" ? secretIn(view, cluster, namespace, object) : view.config<JsonObject>(kind, namespace, object);
  if (config === undefined) return undefined;
  // Entries of another form count as absent.
  const isText = kind === "Secret" ? isBase64 : (value: unknown) => typeof value === "string";
  const entries = Object.entries((config.spec["data"] ?? {}) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => isText(entry[1])));
}

/** ConfigMaps hold text, which may be more than ASCII in comments between PEM blocks. */
function encodeText(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));
}

function withKey({ providerName, pollDelay, fallback }: KeyProvider, key: string) {
  const method = { pollDelay, privateKey: inline(key) };
  const value =
    providerName === "cryptomb"
      ? pack(CryptoMbPrivateKeyMethodConfigSchema, create(CryptoMbPrivateKeyMethodConfigSchema, method))
      : pack(QatPrivateKeyMethodConfigSchema, create(QatPrivateKeyMethodConfigSchema, method));
  return { providerName, fallback, configType: { case: "typedConfig" as const, value } };
}

function inline(base64: string) {
  const text = atob(base64);
  const value = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) value[at] = text.charCodeAt(at);
  return { specifier: { case: "inlineBytes" as const, value } };
}
