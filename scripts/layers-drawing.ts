/** The drawing of docs/architecture/layers.md: which folder imports which, without arrows that follow from others. */

export interface Module {
  readonly source: string;
  readonly dependencies: readonly { readonly resolved: string }[];
}

type Edges = ReadonlyMap<string, ReadonlySet<string>>;

/** Names the folder that a file is drawn in; undefined: it is not drawn. */
type FolderOf = (file: string) => string | undefined;

const xdsServer = "services/xds-server/src/";
const isTest = (file: string) => /\.test\.ts$|\/testing\/|\/bench\/|^packages\/testkit\/|^test\//.test(file);

const workspace: FolderOf = (file) =>
  isTest(file) ? undefined : /^(?:packages|services)\/[^/]+(?=\/(?:src|bin)\/)/.exec(file)?.[0];

const insideXdsServer: FolderOf = (file) => {
  if (isTest(file) || !file.startsWith(xdsServer)) return undefined;
  const [stage = "", room = "", ...rest] = file.slice(xdsServer.length).split("/");
  if (room === "") return undefined;
  // The core is wired by app/ and read by debug/ and fleet/.
  if (stage === "app" && ["core.ts", "core-source.ts", "input-objects.ts"].includes(room)) return "app/core";
  return stage === "generate" && rest.length > 0 ? `generate/${room}` : stage;
};

export function drawLayers(modules: readonly Module[]): string {
  return `# Layers

Made by \`node scripts/check-boundaries.ts --draw\` from the imports of the code, without tests. An arrow means "imports"; arrows
that follow from others are left out. The rules behind it are in \`dependency-cruiser.cjs\`.

## Packages and services

${drawing(edgesOf(modules, workspace))}
## Inside of xds-server

Files directly in \`generate/\` are the table of generators; the core (\`app/core.ts\`, \`app/core-source.ts\`) is drawn by itself.

${drawing(edgesOf(modules, insideXdsServer))}`;
}

/** Folders that need each other. */
export function folderCycles(modules: readonly Module[]): readonly string[] {
  return [workspace, insideXdsServer].flatMap((folderOf) => {
    const edges = edgesOf(modules, folderOf);
    return [...edges.keys()].filter((folder) => reaches(edges, folder, folder));
  });
}

function edgesOf(modules: readonly Module[], folderOf: FolderOf): Edges {
  const edges = new Map<string, Set<string>>();
  for (const { source, dependencies } of modules) {
    const from = folderOf(source);
    if (from === undefined) continue;
    const targets = edges.get(from) ?? new Set<string>();
    edges.set(from, targets);
    for (const { resolved } of dependencies) {
      const to = folderOf(resolved);
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return edges;
}

function drawing(edges: Edges): string {
  const lines = [...edges].flatMap(([from, targets]) =>
    [...targets].filter((to) => !isImplied(edges, from, to)).map((to) => `  ${node(from)} --> ${node(to)}`),
  );
  return `\`\`\`mermaid\nflowchart TD\n${lines.sort().join("\n")}\n\`\`\`\n`;
}

function node(folder: string): string {
  return `${folder.replaceAll(/\W/g, "_")}["${folder}"]`;
}

/** True where another import of `from` leads to `to` as well. */
function isImplied(edges: Edges, from: string, to: string): boolean {
  return [...(edges.get(from) ?? [])].some((other) => other !== to && reaches(edges, other, to));
}

function reaches(edges: Edges, from: string, to: string, seen = new Set<string>()): boolean {
  return [...(edges.get(from) ?? [])].some((next) => {
    if (next === to) return true;
    if (seen.has(next)) return false;
    seen.add(next);
    return reaches(edges, next, to, seen);
  });
}
