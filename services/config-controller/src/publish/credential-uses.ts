/** Which Secrets and ConfigMaps objects refer to: only these are published. */
import {
  type Config,
  type ConfigKey,
  type ConfigKeyText,
  type CredentialReference,
  configKeyText,
  credentialReferences,
  withoutRootSuffix,
} from "@flotilla/model";

export function isCredential({ kind }: Pick<ConfigKey, "kind">): boolean {
  return kind === "Secret" || kind === "ConfigMap";
}

export class CredentialUses {
  readonly #references = new Map<ConfigKeyText, readonly string[]>();
  /** How many objects have a reference of this text. */
  readonly #counts = new Map<string, number>();
  /** Namespaces of what there is, by kind and name. */
  readonly #namespaces = new Map<string, Set<string>>();

  /** Notes an object as it is now, undefined when it is gone. @returns credentials that may be used, or not, only now */
  note(key: ConfigKey, config: Config | undefined): readonly ConfigKey[] {
    if (isCredential(key)) {
      this.#noteName(key, config !== undefined);
      return [key];
    }
    const text = configKeyText(key);
    const before = this.#references.get(text) ?? [];
    const after = config === undefined ? [] : [...new Set(referencesOf(config).map(referenceText))];
    if (after.length === 0) this.#references.delete(text);
    else this.#references.set(text, after);
    const changed = [...after.filter((one) => !before.includes(one)), ...before.filter((one) => !after.includes(one))];
    for (const one of after) this.#counts.set(one, (this.#counts.get(one) ?? 0) + 1);
    for (const one of before) {
      const left = (this.#counts.get(one) ?? 0) - 1;
      if (left > 0) this.#counts.set(one, left);
      else this.#counts.delete(one);
    }
    return changed.flatMap((one) => this.#meant(one));
  }

  isUsed({ kind, namespace, name }: ConfigKey): boolean {
    return [name, withoutRootSuffix(name)].some((one) =>
      [namespace, ""].some((where) => this.#counts.has(referenceText({ kind, namespace: where, name: one }))),
    );
  }

  #noteName({ kind, namespace, name }: ConfigKey, exists: boolean): void {
    const text = `${kind}/${name}`;
    const known = this.#namespaces.get(text) ?? new Set();
    if (exists) this.#namespaces.set(text, known.add(namespace));
    else if (known.delete(namespace) && known.size === 0) this.#namespaces.delete(text);
  }

  /** Roots may be in an object of their own, beside the key pair. */
  #meant(reference: string): readonly ConfigKey[] {
    const [kind = "", namespace = "", name = ""] = reference.split("/");
    return [name, `${name}-cacert`].flatMap((one) =>
      [...(this.#namespaces.get(`${kind}/${one}`) ?? [])].flatMap((where) =>
        namespace === "" || namespace === where ? [{ kind, namespace: where, name: one }] : [],
      ),
    );
  }
}

/** Without a namespace, any: proxies that a Gateway selects may be in another one than the Gateway. */
function referenceText({ kind, namespace = "", name }: CredentialReference | ConfigKey): string {
  return `${kind}/${namespace}/${name}`;
}

function referencesOf({ key: { kind, namespace }, spec }: Config): readonly CredentialReference[] {
  const found = credentialReferences(namespace, spec);
  const isForOwnNamespace = kind === "DestinationRule" && (spec as { workloadSelector?: unknown }).workloadSelector;
  return isForOwnNamespace ? found.map((one) => ({ ...one, namespace: one.namespace ?? namespace })) : found;
}
