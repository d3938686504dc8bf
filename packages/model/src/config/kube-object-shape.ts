/** Checks of Kubernetes objects by the types of their fields. */
import { ownValue } from "../json/own-value.ts";
import { apiGroup, type KubeObject } from "./kube-object.ts";
import { type KubeShape, kubeShapes, metadataShape, type PlainShape } from "./kube-shapes.ts";

/** A field whose type is not the one that Kubernetes documents. */
export interface KubeFinding {
  readonly field: string;
  readonly reason: string;
}

/**
 * The types of those fields of Kubernetes objects from which services and endpoints are made. An API server checks them; a file does not, nor
 * does another version of a publisher. Findings refuse the object; fields that are not read are not looked at.
 */
export function checkKubeObject(object: KubeObject): readonly KubeFinding[] {
  const shape = ownValue(kubeShapes, `${apiGroup(object.apiVersion)}/${object.kind}`);
  const findings: KubeFinding[] = [];
  if (shape === undefined) return findings;
  check(object, shape, { path: [], findings });
  checkPart(object.metadata, metadataShape, { path: [], findings }, "metadata");
  return findings;
}

/** The place in an object, as the names and indexes that lead to it: a text is made of it only for a finding. */
interface Place {
  readonly path: (string | number)[];
  readonly findings: KubeFinding[];
}

function check(value: unknown, shape: KubeShape, at: Place): void {
  if (value === null || value === undefined) return;
  if (typeof shape === "string") {
    if (!isOf(shape, value)) refuse(at, shape);
  } else if ("list" in shape) {
    if (!Array.isArray(value)) refuse(at, "list");
    else for (const [index, item] of value.entries()) checkPart(item, shape.list, at, index);
  } else if (typeof value !== "object" || Array.isArray(value)) refuse(at, "object");
  else if ("map" in shape) for (const [name, item] of Object.entries(value)) checkPart(item, shape.map, at, name);
  else {
    const record = value as Readonly<Record<string, unknown>>;
    for (const name in shape.fields) {
      const field = shape.fields[name];
      if (field !== undefined) checkPart(ownValue(record, name), field, at, name);
    }
  }
}

function checkPart(value: unknown, shape: KubeShape, at: Place, name: string | number): void {
  at.path.push(name);
  check(value, shape, at);
  at.path.pop();
}

function refuse({ path, findings }: Place, expected: string): void {
  const field = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  findings.push({ field: field.startsWith(".") ? field.slice(1) : field, reason: `is no ${expected}` });
}

function isOf(shape: PlainShape, value: unknown): boolean {
  if (shape === "flag") return typeof value === "boolean";
  if (typeof value === "string") return shape.includes("text");
  return shape.includes("integer") && Number.isInteger(value) && Math.abs(value as number) < 2 ** 32;
}
