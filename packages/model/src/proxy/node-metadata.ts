/**
 * The metadata of an Envoy node as pilot-agent writes it. Values arrive as JSON of a protobuf Struct:
 * booleans may be text, lists may be comma text, and some values are JSON within text.
 */
import { ownValue } from "../json/own-value.ts";
import { parseBoolean } from "../names/boolean-text.ts";

export type NodeMetadata = Readonly<Record<string, unknown>>;

export interface PodPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

export function metadataText(metadata: NodeMetadata, key: string): string {
  const value = ownValue(metadata, key);
  return typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : "";
}

export function metadataFlag(metadata: NodeMetadata, key: string): boolean {
  return parseBoolean(metadataText(metadata, key)) ?? false;
}

/** A list of text, or text with commas. */
export function metadataList(metadata: NodeMetadata, key: string): readonly string[] {
  const value = ownValue(metadata, key);
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  return typeof value === "string" && value !== "" ? value.split(",").map((item) => item.trim()) : [];
}

export function metadataMap(metadata: NodeMetadata, key: string): Readonly<Record<string, string>> {
  const value = ownValue(metadata, key);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** POD_PORTS: a JSON list within text. */
export function podPorts(metadata: NodeMetadata): readonly PodPort[] {
  const value = parsed(metadata["POD_PORTS"]);
  return Array.isArray(value) ? value.filter((port): port is PodPort => typeof port?.containerPort === "number") : [];
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    // Not JSON: the caller treats it like an absent value, as Envoy's node may carry anything.
    return undefined;
  }
}
