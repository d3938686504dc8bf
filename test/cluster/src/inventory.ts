/** All objects of a cluster by kind and name, to see what an installation leaves behind. */
import { kubectl } from "./process.ts";

/** They come and go by themselves. */
const passing = /^(events|podmetrics|nodemetrics|componentstatuses)(\.|$)|endpointslices|^leases\.coordination/;

export async function inventory(): Promise<ReadonlySet<string>> {
  const listed = await kubectl("api-resources", "--verbs=list", "-o", "name");
  const resources = listed.split("\n").filter((name) => name !== "" && !passing.test(name));
  const format = "custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name";
  const lists = await Promise.all(
    resources.map((resource) =>
      kubectl("get", resource, "--all-namespaces", "--ignore-not-found", "--no-headers", "-o", format),
    ),
  );
  return new Set(
    lists.flatMap((list) => list.split("\n").filter((line) => line !== "")).map((line) => line.replace(/\s+/g, " ")),
  );
}

/** Objects that are there now and were not before; pods of others have new names now and then. */
export async function newSince(before: ReadonlySet<string>): Promise<readonly string[]> {
  const now = await inventory();
  return [...now].filter((line) => !before.has(line) && !line.startsWith("Pod kube-"));
}
