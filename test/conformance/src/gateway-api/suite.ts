/**
 * The conformance suites of the Gateway API and of its Inference Extension, unmodified, from the Go module proxy: each is built once in a
 * cache outside of the project. Its two modules stand side by side there, as the suite's own go.mod names the other by a path.
 */
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, chmod, cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

interface Published {
  readonly version: string;
  readonly cache: string;
  /** In the modules, for `kubectl apply -k`. */
  readonly definitions: string;
  /** With the sums under which the modules are published: what is run is what others run. */
  readonly modules: readonly { readonly path: string; readonly at: string; readonly sum: string }[];
}

const suites = {
  "gateway-api": {
    version: "v1.6.1",
    cache: "gateway-api-v1.6.1",
    definitions: "config/crd/experimental",
    modules: [
      { path: "sigs.k8s.io/gateway-api", at: ".", sum: "h1:mock6phZbI6rvZerwrVNk7hVNymQgHo+6sJ81Ia7ftY=" },
      {
        path: "sigs.k8s.io/gateway-api/conformance",
        at: "conformance",
        sum: "h1:hjJJBYhGlLLDAkpbiL8wYP2JmTbc5D6t/DromATFXbI=",
      },
    ],
  },
  inference: {
    version: "v1.6.0",
    cache: "inference-extension-v1.6.0",
    definitions: "config/crd",
    modules: [
      {
        path: "sigs.k8s.io/gateway-api-inference-extension",
        at: ".",
        sum: "h1:cjtwMJYcTnLXBYE5ffR1/hHhn7U1aIFfe2RITYmOXVA=",
      },
      {
        path: "sigs.k8s.io/gateway-api-inference-extension/conformance",
        at: "conformance",
        sum: "h1:IHzyGYgGKMf7bYGDY59K72tIpng1jVohBi32RXOrFxE=",
      },
    ],
  },
} as const satisfies Readonly<Record<string, Published>>;

export type SuiteName = keyof typeof suites;

export interface Suite {
  /** The test program; it runs in its own directory. */
  readonly program: string;
  /** The definitions of its version, for `kubectl apply -k`. */
  readonly definitions: string;
}

/** @throws when a module is not what it was, or Go cannot build it */
export async function buildSuite(
  name: SuiteName,
  env: NodeJS.ProcessEnv,
  onProgress: (text: string) => void,
): Promise<Suite> {
  const { version, modules, definitions, cache: directory } = suites[name];
  const cache = join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "flotilla", directory);
  const source = join(cache, "source");
  const suite = { program: join(cache, "conformance.test"), definitions: join(source, definitions) };
  if (await exists(suite.program)) return suite;
  onProgress(`building the suite ${version} in ${cache}: some minutes, once`);
  const draft = join(cache, "draft");
  await rm(draft, { recursive: true, force: true });
  for (const { path, at, sum } of modules) {
    const { stdout } = await run("go", ["mod", "download", "-json", `${path}@${version}`], { cwd: homedir(), env });
    const module = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string };
    if (module.Sum !== sum) throw new Error(`${path}@${version} has the sum ${module.Sum}, not ${sum}`);
    await mkdir(draft, { recursive: true });
    await cp(module.Dir, join(draft, at), { recursive: true, force: true });
    await makeWritable(draft);
  }
  const build = ["test", "-c", "-o", `${suite.program}.draft`, "."];
  const settings = { ...env, GOWORK: "off", GOFLAGS: "-mod=readonly" };
  await run("go", build, { cwd: join(draft, "conformance"), env: settings, maxBuffer: 64 << 20 });
  await rm(source, { recursive: true, force: true });
  await rename(draft, source);
  await rename(`${suite.program}.draft`, suite.program);
  return suite;
}

async function exists(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Go's module cache is read-only, and so are copies of it. */
async function makeWritable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}
