/** SDS: certificates, keys and roots that rules name, out of Secrets and ConfigMaps. */
import { isBase64, type JsonObject, parseCredentialName, withoutRootSuffix } from "@flotilla/model";
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

/** A resource that does not exist, is not complete or not granted is left out: listeners and clusters wait for it. */
export const secrets = createGenerator<SecretInputs, Secret>({
  typeUrl: typeUrl.secret,
  schema: SecretSchema,
  select: (view, name) => {
    const asked = parseCredentialName(name);
    if (asked === undefined) return undefined;
    const { scheme, kind, object, isRoot } = asked;
    const namespace = asked.namespace || view.proxy.namespace;
    const place = { kind, namespace, object };
    const report = (message: string) => {
      const metric = "pilot_sds_certificate_errors_total";
      view.report({ metric, object: `${kind}/${namespace}/${object}`, message: `${name} ${message}` });
      return undefined;
    };
    const isForeign = scheme === "kubernetes" && namespace !== view.proxy.namespace;
    if (isForeign || !isGranted(view, asked, name)) return report("is asked for by a proxy that may not have it");
    const found = isRoot ? rootOf(view, name, place) : keyPairOf(view, name, place);
    return found ?? report(`is asked for, and there are no ${isRoot ? "roots" : "certificate and key"}`);
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
}

const nothing = { certificate: "", key: "", staple: "", root: "", revoked: "" };

/** Keys of generic Secrets, or of the type `kubernetes.io/tls`, which alone have a staple. */
function keyPairOf(view: View, name: string, { namespace, object }: Place): SecretInputs | undefined {
  const data = dataOf(view, "Secret", namespace, object) ?? {};
  for (const [cert, key, ocsp] of [
    ["cert", "key", ""],
    ["tls.crt", "tls.key", "tls.ocsp-staple"],
  ] as const) {
    const [certificate, secretKey] = [data[cert] ?? "", data[key] ?? ""];
    if (certificate !== "" && secretKey !== "")
      return { ...nothing, name, certificate, key: secretKey, staple: data[ocsp] ?? "" };
  }
  return undefined;
}

/** A Secret of its own, whose name ends in `-cacert`, hides the one with the key pair. */
function rootOf(view: View, name: string, { kind, namespace, object }: Place): SecretInputs | undefined {
  const own = kind === "Secret" ? dataOf(view, kind, namespace, object) : undefined;
  const data = own ?? dataOf(view, kind, namespace, withoutRootSuffix(object)) ?? {};
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

function dataOf(
  view: View,
  kind: "Secret" | "ConfigMap",
  namespace: string,
  name: string,
): Readonly<Record<string, string>> | undefined {
  const config = view.config<JsonObject>(kind, namespace, name);
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

function inline(base64: string) {
  const text = atob(base64);
  const value = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) value[at] = text.charCodeAt(at);
  return { specifier: { case: "inlineBytes" as const, value } };
}
