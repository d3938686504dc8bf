/** Rules of an API server for the metadata of every object, whatever its kind. */
import type { KubeObject } from "@flotilla/model";
import type { Problem } from "@flotilla/validation";

const labelName = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const subdomain = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const maxAnnotationBytes = 256 * 1024;
/** Of labels, and of annotations: each is checked, and an object without this bound would hold others up. */
const maxNames = 1_000;

/** Not kept by this store: shown, so that it is not missed. */
const notKept = ["finalizers", "ownerReferences"];

export function metadataProblems({ metadata }: KubeObject): readonly Problem[] {
  const { name, namespace, labels = {}, annotations = {} } = { ...metadata } as Readonly<Record<string, unknown>>;
  const own: Problem[] = [];
  if (typeof name !== "string" || name.length > 253 || !subdomain.test(name))
    own.push(
      wrong(
        "metadata.name",
        "must be lower case letters, digits, '-' and '.', beginning and ending with a letter or digit, 253 at most",
      ),
    );
  if (namespace !== undefined && (typeof namespace !== "string" || !label.test(namespace)))
    own.push(
      wrong(
        "metadata.namespace",
        "must be lower case letters, digits and '-', beginning and ending with a letter or digit, 63 at most",
      ),
    );
  const kept = notKept.filter((field) => Object.hasOwn(metadata, field));
  return [
    ...own,
    ...mapProblems("labels", labels, (value) => value === "" || labelName.test(value)),
    ...mapProblems("annotations", annotations, () => true),
    ...sizeProblems(annotations),
    ...kept.map((field): Problem => ({ field: `metadata.${field}`, reason: "is not kept", severity: "warning" })),
  ];
}

/** True where labels and annotations are few enough to be checked one by one. */
export function hasBoundedNames({ metadata: { labels, annotations } }: KubeObject): boolean {
  return isBounded(labels) && isBounded(annotations);
}

function isBounded(map: unknown): boolean {
  return typeof map !== "object" || map === null || Object.keys(map).length <= maxNames;
}

function mapProblems(field: string, map: unknown, isValue: (value: string) => boolean): readonly Problem[] {
  if (typeof map !== "object" || map === null || Array.isArray(map))
    return [wrong(`metadata.${field}`, "must be an object of texts")];
  if (!isBounded(map))
    return [wrong(`metadata.${field}`, `have ${Object.keys(map).length} names, ${maxNames} are allowed`)];
  return Object.entries(map).flatMap(([key, value]) => {
    const place = `metadata.${field}[${key}]`;
    if (!isQualifiedName(key)) return [wrong(place, "is no name of the form [prefix/]name")];
    if (typeof value !== "string") return [wrong(place, "must be a text")];
    return isValue(value)
      ? []
      : [
          wrong(
            place,
            `has the value ${JSON.stringify(value)}, which is no label's: letters, digits, '-', '_' and '.', 63 at most`,
          ),
        ];
  });
}

function isQualifiedName(key: string): boolean {
  const [first = "", second, ...more] = key.split("/");
  if (second === undefined) return labelName.test(first);
  return more.length === 0 && first.length <= 253 && subdomain.test(first) && labelName.test(second);
}

function sizeProblems(annotations: unknown): readonly Problem[] {
  const bytes = Buffer.byteLength(JSON.stringify(annotations) ?? "");
  return bytes <= maxAnnotationBytes
    ? []
    : [wrong("metadata.annotations", `have ${bytes} bytes, ${maxAnnotationBytes} are allowed`)];
}

function wrong(field: string, reason: string): Problem {
  return { field, reason, severity: "error" };
}
