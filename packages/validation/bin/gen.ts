/**
 * Writes src/gen/schemas.json from the CRDs of @flotilla/kinds: per kind the OpenAPI schema of each version, without what
 * only readers need. Versions with equal schemas share one.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

type Json = Readonly<Record<string, unknown>>;
interface Crd {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Json } }[];
  };
}

const path = (relative: string) => fileURLToPath(new URL(`../${relative}`, import.meta.url));
const crds = parseAllDocuments(readFileSync(path("../kinds/crds/istio.yaml"), "utf8"))
  .map((document) => document.toJS() as Crd | null)
  .filter((crd) => crd !== null);
const lines = crds.map(({ spec }) => `${JSON.stringify(spec.names.kind)}:${JSON.stringify(versionsOf(spec.versions))}`);
writeFileSync(path("src/gen/schemas.json"), `{\n${lines.join(",\n")}\n}\n`);

function versionsOf(versions: Crd["spec"]["versions"]): Json {
  const schemas: unknown[] = [];
  const texts: string[] = [];
  const byVersion: Record<string, number> = {};
  for (const { name, schema } of versions) {
    const slim = slimSchema(schema.openAPIV3Schema);
    const text = JSON.stringify(slim);
    if (!texts.includes(text)) {
      texts.push(text);
      schemas.push(slim);
    }
    byVersion[name] = texts.indexOf(text);
  }
  return { versions: byVersion, schemas };
}

function slimSchema(schema: Json): Json {
  const entries = Object.entries(schema).filter(([keyword]) => keyword !== "description");
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, slimKeyword(keyword, value)]));
}

function slimKeyword(keyword: string, value: unknown): unknown {
  if (keyword === "properties") {
    return Object.fromEntries(Object.entries(value as Json).map(([name, part]) => [name, slimSchema(part as Json)]));
  }
  if (Array.isArray(value) && ["allOf", "anyOf", "oneOf"].includes(keyword)) return value.map(slimSchema);
  const isSchema = ["items", "additionalProperties", "not"].includes(keyword) && typeof value === "object";
  return isSchema ? slimSchema(value as Json) : value;
}
