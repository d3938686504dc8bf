/** An object of the Kubernetes API as configuration. */
import { type Config, creationTimeMs, type KubeObject, objectKey, type Provenance } from "@flotilla/model";
import { configKind } from "./kinds.ts";

/** Undefined for kinds that are no configuration. */
export function configOf(object: KubeObject, provenance?: Provenance): Config | undefined {
  const kind = configKind(object.apiVersion, object.kind);
  if (kind === undefined) return undefined;
  const { labels = {}, annotations = {}, resourceVersion, generation } = object.metadata;
  return {
    key: objectKey(object, kind),
    labels,
    annotations,
    creationTimeMs: creationTimeMs(object),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(generation === undefined ? {} : { generation }),
    spec: specOf(object),
    ...(object["status"] === undefined ? {} : { status: object["status"] }),
    ...(provenance === undefined ? {} : { provenance }),
  };
}

/** Kinds without a spec have their fields at the top. */
function specOf(object: KubeObject): unknown {
  switch (object.kind) {
    case "Secret":
      return { ...(object["type"] === undefined ? {} : { type: object["type"] }), data: secretData(object) };
    case "ConfigMap":
      return {
        data: object["data"] ?? {},
        ...(object["binaryData"] === undefined ? {} : { binaryData: object["binaryData"] }),
      };
    default:
      return object["spec"] ?? {};
  }
}

/** `stringData` is what the API server would have encoded and merged into `data`. */
function secretData(object: KubeObject): Readonly<Record<string, string>> {
  const data = (object["data"] ?? {}) as Readonly<Record<string, string>>;
  const plain = Object.entries((object["stringData"] ?? {}) as Readonly<Record<string, string>>);
  return { ...data, ...Object.fromEntries(plain.map(([key, text]) => [key, base64(text)])) };
}

function base64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
