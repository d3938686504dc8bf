/**
 * The unit test files that reach a source file by imports, nearest in folders and in imports first. Names that come through a package's index lead to the files
 * that declare them, not to everything the index exports: else every test would reach every file of packages/model.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript-6";

interface Reference {
  readonly to: string;
  /** "*": all of it. */
  readonly names: readonly string[] | "*";
}

interface Module {
  readonly imports: readonly Reference[];
  /** `export … from`: by the exported name; "*" lists the modules that are exported whole. */
  readonly exports: ReadonlyMap<string, readonly string[]>;
}

export interface ImportGraph {
  testsOf(file: string): readonly string[];
}

export function openImportGraph(root: string, testFiles: readonly string[]): ImportGraph {
  const modules = new Map<string, Module>();
  const moduleOf = (file: string): Module => {
    const known = modules.get(file) ?? readModule(file, root);
    modules.set(file, known);
    return known;
  };
  const distances = new Map<string, Map<string, number>>();
  for (const test of testFiles)
    for (const [file, distance] of reach(test, moduleOf)) {
      const ofFile = distances.get(file) ?? new Map<string, number>();
      distances.set(file, ofFile.set(test, distance));
    }
  return {
    testsOf(file) {
      const own = file.replace(/\.ts$/, ".test.ts");
      const rank = (test: string, distance: number): number =>
        // Tests made for a file sit near it; import chains of such tests may be long.
        test === own ? -1 : distance + 5 * relative(dirname(file), test).split("/").length;
      return [...(distances.get(file) ?? [])]
        .toSorted(([a, near], [b, far]) => rank(a, near) - rank(b, far) || (a < b ? -1 : 1))
        .map(([test]) => test);
    },
  };
}

/** Breadth first: how many imports lead from a test file to each file. */
function reach(test: string, moduleOf: (file: string) => Module): ReadonlyMap<string, number> {
  const found = new Map([[test, 0]]);
  for (const [file, distance] of found)
    for (const { to, names } of moduleOf(file).imports)
      for (const declared of declaring(to, names, moduleOf))
        if (!found.has(declared)) found.set(declared, distance + 1);
  return found;
}

function declaring(
  file: string,
  names: Reference["names"],
  moduleOf: (file: string) => Module,
  seen = new Set<string>(),
): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const { exports } = moduleOf(file);
  if (names === "*") return [file, ...[...exports.values()].flat().flatMap((to) => declaring(to, "*", moduleOf, seen))];
  const passedOn = names.flatMap((name) => (exports.get(name) ?? []).map((to) => ({ to, name })));
  const missing = names.filter((name) => !exports.has(name));
  const whole = missing.length > 0 ? (exports.get("*") ?? []) : [];
  return [
    ...(missing.length > 0 ? [file] : []),
    ...passedOn.flatMap(({ to }) => declaring(to, names, moduleOf, seen)),
    ...whole.flatMap((to) => declaring(to, missing, moduleOf, seen)),
  ];
}

function readModule(file: string, root: string): Module {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, false);
  const imports: Reference[] = [];
  const exports = new Map<string, readonly string[]>();
  const resolved = (specifier: ts.Node | undefined): string | undefined =>
    specifier !== undefined && ts.isStringLiteralLike(specifier)
      ? resolveSource(specifier.text, file, root)
      : undefined;
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) {
      const to = resolved(statement.moduleSpecifier);
      const names = importedNames(statement.importClause);
      if (to !== undefined && names.length > 0) imports.push({ to, names });
    } else if (ts.isExportDeclaration(statement) && !statement.isTypeOnly) {
      const to = resolved(statement.moduleSpecifier);
      if (to === undefined) continue;
      const names =
        statement.exportClause && ts.isNamedExports(statement.exportClause) ? statement.exportClause.elements : [];
      for (const { name, isTypeOnly } of names) if (!isTypeOnly) exports.set(name.text, [to]);
      if (names.length === 0) exports.set("*", [...(exports.get("*") ?? []), to]);
    }
  }
  const named = [
    ...source.text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g),
    // Run in a process or a thread of its own.
    ...source.text.matchAll(/\bnew URL\(\s*"([^"]+\.ts)",\s*import\.meta\.url,?\s*\)/g),
  ];
  for (const [text, specifier = ""] of named) {
    const isFile = text.startsWith("new") && !specifier.startsWith(".");
    const to = resolveSource(isFile ? `./${specifier}` : specifier, file, root);
    if (to !== undefined) imports.push({ to, names: "*" });
  }
  return { imports, exports };
}

/** Types are erased; they lead nowhere. */
function importedNames(clause: ts.ImportClause | undefined): Reference["names"] {
  // `import "./x.ts"` runs it.
  if (clause === undefined) return "*";
  if (clause.isTypeOnly) return [];
  const { namedBindings } = clause;
  if (namedBindings === undefined || ts.isNamespaceImport(namedBindings) || clause.name !== undefined) return "*";
  return namedBindings.elements.flatMap(({ isTypeOnly, propertyName, name }) =>
    isTypeOnly ? [] : [(propertyName ?? name).text],
  );
}

/** Undefined: a module of Node or of another project, or generated code. */
function resolveSource(specifier: string, from: string, root: string): string | undefined {
  const path = specifier.startsWith(".") ? resolve(dirname(from), specifier) : workspacePath(specifier, root);
  return path?.endsWith(".ts") === true && !path.includes("/gen/") && existsSync(path) ? path : undefined;
}

function workspacePath(specifier: string, root: string): string | undefined {
  const [, name = "", rest = ""] = /^@flotilla\/([^/]+)(.*)$/.exec(specifier) ?? [];
  const directory = ["packages", "services", "test"]
    .map((area) => join(root, area, name))
    .find((path) => existsSync(join(path, "package.json")));
  if (name === "" || directory === undefined) return undefined;
  const { exports = {} } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
    exports?: Readonly<Record<string, unknown>>;
  };
  const exact = exports[`.${rest}`];
  if (typeof exact === "string") return join(directory, exact);
  for (const [pattern, target] of Object.entries(exports)) {
    const prefix = pattern.endsWith("*") ? pattern.slice(0, -1) : undefined;
    if (typeof target === "string" && prefix !== undefined && `.${rest}`.startsWith(prefix))
      return join(directory, target.replace("*", `.${rest}`.slice(prefix.length)));
  }
  return undefined;
}
