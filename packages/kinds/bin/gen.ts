/**
 * Writes src/gen/istio-kinds.ts from the CRDs in crds/. With --crds those are first copied afresh
 * out of the Go module of the Istio API, in the version that the protobuf descriptors come from.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
  };
}

/** Every version of a group's kinds is the same message; where the message's package is another one, it is named by kind. */
const packageOf: Readonly<Record<string, string>> = {
  "extensions.istio.io": "istio.extensions.v1alpha1",
  "networking.istio.io": "istio.networking.v1alpha3",
  "networking.istio.io/ProxyConfig": "istio.networking.v1beta1",
  "security.istio.io": "istio.security.v1beta1",
  "telemetry.istio.io": "istio.telemetry.v1alpha1",
};

const path = (relative: string) => fileURLToPath(new URL(`../${relative}`, import.meta.url));

if (process.argv.includes("--crds")) copyCrds();
const rows = parseAllDocuments(readFileSync(path("crds/istio.yaml"), "utf8"))
  .map((document) => document.toJS() as Crd | null)
  .filter((crd) => crd !== null)
  .map(row);
writeFileSync(path("src/gen/istio-kinds.ts"), render(rows));

function copyCrds(): void {
  const directory = execFileSync("go", ["list", "-m", "-f", "{{.Dir}}", "istio.io/api"], {
    cwd: path("../proto/descriptors"),
    encoding: "utf8",
  }).trim();
  copyFileSync(`${directory}/kubernetes/customresourcedefinitions.gen.yaml`, path("crds/istio.yaml"));
}

function row({ spec }: Crd): object {
  const { group, scope, names, versions } = spec;
  const { kind, plural, shortNames } = names;
  const messages = packageOf[`${group}/${kind}`] ?? packageOf[group];
  if (messages === undefined) throw new Error(`no protobuf package is known for ${group} ${kind}`);
  const stored = versions.find(({ storage }) => storage);
  if (stored === undefined) throw new Error(`${group} ${kind} has no storage version`);
  return {
    name: kind,
    kind,
    plural,
    shortNames: shortNames ?? [],
    group,
    versions: versions.filter(({ served }) => served).map(({ name }) => name),
    storageVersion: stored.name,
    namespaced: scope === "Namespaced",
    message: `${messages}.${kind}`,
  };
}

function render(rows: readonly object[]): string {
  const literals = rows.map((row) => `  ${JSON.stringify(row)},\n`).join("");
  return `// Written by bin/gen.ts from crds/istio.yaml: change that and run \`pnpm gen\`.
import type { Kind } from "../kind.ts";

export const istioKinds: readonly Kind[] = [
${literals}];
`;
}
