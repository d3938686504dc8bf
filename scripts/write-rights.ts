/**
 * Writes the rules that k8s/base gives to each account, with the line where each stands, for `flotilla check`. `--check` only reports
 * whether the file is up to date.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMap, isSeq, LineCounter, parseAllDocuments } from "yaml";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = "packages/cli/src/check/needed-rights.json";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}
interface Role {
  readonly kind: string;
  readonly name: string;
  readonly rules: readonly (Rule & { readonly at: string })[];
}
interface Binding {
  readonly metadata: { readonly name: string };
  readonly kind: string;
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string }[];
}

const roles: Role[] = [];
const bindings: Binding[] = [];
for (const file of globSync("k8s/base/*.yaml", { cwd: root }).toSorted()) {
  const lines = new LineCounter();
  for (const document of parseAllDocuments(readFileSync(join(root, file), "utf8"), { lineCounter: lines })) {
    const object = document.toJS() as Binding | null;
    if (object?.kind === "ClusterRoleBinding" || object?.kind === "RoleBinding") bindings.push(object);
    if (object?.kind !== "ClusterRole" && object?.kind !== "Role") continue;
    const nodes = document.get("rules");
    if (!isSeq(nodes)) continue;
    const rules = nodes.items.filter(isMap).map((node) => ({
      ...(node.toJS(document) as Rule),
      at: `${file}:${lines.linePos(node.range?.[0] ?? 0).line}`,
    }));
    roles.push({ kind: object.kind, name: object.metadata.name, rules });
  }
}

const rights = bindings.flatMap(({ kind, roleRef, subjects }) =>
  roles
    .filter((role) => role.kind === roleRef.kind && role.name === roleRef.name)
    .flatMap(({ rules }) =>
      subjects.flatMap(({ name: account }) =>
        rules.map((rule) => ({ account, isOwnNamespace: kind === "RoleBinding", ...rule })),
      ),
    ),
);

// The formatter lays it out.
if (!process.argv.includes("--check")) writeFileSync(join(root, target), `${JSON.stringify(rights, undefined, 2)}\n`);
else if (JSON.stringify(JSON.parse(readFileSync(join(root, target), "utf8"))) !== JSON.stringify(rights)) {
  process.stdout.write(`${target} is not what k8s/base has: run node scripts/write-rights.ts\n`);
  process.exitCode = 1;
}
