/** Names of all Secrets of a cluster: one that a new reference means is found without listing the others. */
import { type ObjectName, objectName, withRootsName } from "@flotilla/model";
import type { ReferencedName } from "../../publish/credential-uses.ts";

export class SecretNames {
  /** By name, the namespaces that have one. */
  readonly #namespaces = new Map<string, Set<string>>();

  replace(objects: readonly ObjectName[]): void {
    this.#namespaces.clear();
    for (const object of objects) this.note(object, true);
  }

  note(object: ObjectName, exists: boolean): void {
    const { namespace, name } = objectName.read(object);
    const known = this.#namespaces.get(name) ?? new Set<string>();
    if (exists) this.#namespaces.set(name, known.add(namespace));
    else if (known.delete(namespace) && known.size === 0) this.#namespaces.delete(name);
  }

  *all(): Generator<ObjectName, void, undefined> {
    for (const [name, namespaces] of this.#namespaces)
      for (const namespace of namespaces) yield objectName.write({ namespace, name });
  }

  meant({ namespace, name }: ReferencedName): readonly ObjectName[] {
    return withRootsName(name).flatMap((one) =>
      [...(this.#namespaces.get(one) ?? [])]
        .filter((where) => namespace === "" || namespace === where)
        .map((where) => objectName.write({ namespace: where, name: one })),
    );
  }
}
