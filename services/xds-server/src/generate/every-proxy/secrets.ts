/** SDS: certificates, keys and roots that rules name, out of Secrets and ConfigMaps. */
import type { JsonObject } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import { type Secret, SecretSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { isGranted } from "../../snapshot/scope/granted-secrets.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";

interface SecretInputs {
  readonly name: string;
  /** PEM in base64; empty for none. */
  readonly certificate: string;
  readonly key: string;
  readonly staple: string;
  readonly root: string;
  readonly revoked: string;
}

/** What is not there, not complete or not meant for the proxy has no resource: its clusters wait for it. */
export const sidecarSecrets = createGenerator<SecretInputs, Secret>({
  typeUrl: typeUrl.secret,
  label: "sidecar ",
  schema: SecretSchema,
  select: (view, name) => {
    const place = parseName(name, view.proxy.namespace);
    if (place === undefined || !isGranted(view, name.replace(rootSuffix, ""))) return undefined;
    return place.isRoot ? rootOf(view, name, place) : keyPairOf(view, name, place);
  },
  build: ({ name, certificate, key, staple, root, revoked }) =>
    create(SecretSchema, {
      name,
      type:
        root === ""
          ? {
              case: "tlsCertificate",
              value: {
                certificateChain: inline(certificate),
                privateKey: inline(key),
                ...(staple !== "" && { ocspStaple: inline(staple) }),
              },
            }
          : {
              case: "validationContext",
              value: { trustedCa: inline(root), ...(revoked !== "" && { crl: inline(revoked) }) },
            },
    }),
});

interface Place {
  readonly kind: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly object: string;
  readonly isRoot: boolean;
}

const rootSuffix = /-cacert$/;

/** `kubernetes://[namespace/]name[-cacert]`, of the proxy's own namespace; `configmap://namespace/name[-cacert]`, roots only. */
function parseName(name: string, ownNamespace: string): Place | undefined {
  const [, scheme, namespace, object = ""] = /^(kubernetes|configmap):\/\/(?:([^/]+)\/)?([^/]+)$/.exec(name) ?? [];
  if (scheme === "kubernetes") {
    const isOwn = namespace === undefined || namespace === ownNamespace;
    return isOwn ? { kind: "Secret", namespace: ownNamespace, object, isRoot: rootSuffix.test(object) } : undefined;
  }
  if (scheme !== "configmap" || namespace === undefined) return undefined;
  return { kind: "ConfigMap", namespace, object: object.replace(rootSuffix, ""), isRoot: true };
}

const nothing = { certificate: "", key: "", staple: "", root: "", revoked: "" };

/** Keys of the type `kubernetes.io/tls` or of generic Secrets. */
function keyPairOf(view: View, name: string, { namespace, object }: Place): SecretInputs | undefined {
  const data = dataOf(view, "Secret", namespace, object);
  for (const [cert, key] of [
    ["cert", "key"],
    ["tls.crt", "tls.key"],
  ] as const) {
    const [certificate, secretKey] = [data[cert] ?? "", data[key] ?? ""];
    if (certificate !== "" && secretKey !== "")
      return { ...nothing, name, certificate, key: secretKey, staple: data["tls.ocsp-staple"] ?? "" };
  }
  return undefined;
}

/** A Secret of its own, whose name ends in `-cacert`, comes before the one with the key pair. */
function rootOf(view: View, name: string, { kind, namespace, object }: Place): SecretInputs | undefined {
  for (const one of new Set([object, object.replace(rootSuffix, "")])) {
    const data = dataOf(view, kind, namespace, one);
    for (const [ca, crl] of [
      ["cacert", "crl"],
      ["ca.crt", "ca.crl"],
    ] as const) {
      const root = data[ca] ?? "";
      const encode = (text: string) => (kind === "ConfigMap" ? btoa(text) : text);
      if (root !== "") return { ...nothing, name, root: encode(root), revoked: encode(data[crl] ?? "") };
    }
  }
  return undefined;
}

function dataOf(
  view: View,
  kind: "Secret" | "ConfigMap",
  namespace: string,
  name: string,
): Readonly<Record<string, string>> {
  const spec = view.config<JsonObject>(kind, namespace, name)?.spec;
  return (spec?.["data"] ?? {}) as Readonly<Record<string, string>>;
}

function inline(base64: string) {
  const value = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return { specifier: { case: "inlineBytes" as const, value } };
}
