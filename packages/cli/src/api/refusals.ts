/** What the API says about the items of a list, told with the places that these stand at in files. */
import { CliError } from "../errors.ts";
import { ApiRefusal } from "./api-client.ts";
import { describe, type Manifest } from "./manifests.ts";

/** Objects of kinds that mean nothing to the mesh, such as Deployments. */
export interface IgnoredKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly count: number;
}

/** One line for each kind. */
export function ignoredText({ apiVersion, kind, count }: IgnoredKind): string {
  return `${count} ${kind} (${apiVersion}) ignored: not configuration of the mesh`;
}

/** Rethrows a refusal with one line for each cause. */
export async function withPlaces<T>(manifests: readonly Manifest[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.causes.length === 0) throw error;
    const lines = error.causes.map(({ field, message }) => placed(manifests, field, message));
    throw new CliError("CLI_REFUSED", `nothing was changed\n${lines.join("\n")}`, { cause: error });
  }
}

function placed(manifests: readonly Manifest[], field: string, message: string): string {
  const found = /^items\[(\d+)\](?:\.(.*))?$/.exec(field);
  const manifest = manifests[Number(found?.[1] ?? Number.NaN)];
  if (manifest === undefined) return `  ${field}: ${message}`;
  const within = found?.[2] === undefined ? "" : ` ${found[2]}`;
  return `  ${manifest.place} ${describe(manifest)}:${within} ${message}`;
}
