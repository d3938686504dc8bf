/** Secrets and ConfigMaps that objects refer to, among those that exist: of the own cluster, and of the clusters that proxies are in. */
import {
  type Config,
  type ConfigKey,
  type ConfigKeyText,
  type CredentialReference,
  configKeyText,
  credentialReferences,
  parseClusterObjectName,
  type TextOf,
  textCodec,
  withoutRootSuffix,
  withRootsName,
} from "@flotilla/model";

/** A reference that came or went. Without a namespace it means any. */
export interface ReferencedName {
  readonly namespace: string;
  /** With `-cacert` behind it, that of the roots, too. */
  readonly name: string;
}

/** The references to Secrets in the clusters of proxies. */
export interface SecretReferences {
  /** False until all objects are known. */
  readonly isLoaded: boolean;
  isReferenced(namespace: string, name: string): boolean;
  /** `onChange` is called without a name when all objects are known. */
  listen(onChange: (reference: ReferencedName | undefined) => void): void;
}

export class CredentialUses implements SecretReferences {
  readonly #references = new Map<ConfigKeyText, readonly CredentialText[]>();
  /** How many objects have a reference of this text. */
  readonly #counts = new Map<CredentialText, number>();
  /** Keys of what there is, by kind and name: of every namespace and cluster. */
  readonly #known = new Map<string, Map<ConfigKeyText, ConfigKey>>();
  readonly #listeners: ((reference: ReferencedName | undefined) => void)[] = [];
  #isLoaded = false;

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  listen(onChange: (reference: ReferencedName | undefined) => void): void {
    this.#listeners.push(onChange);
  }

  /** All objects have been noted. */
  markLoaded(): void {
    this.#isLoaded = true;
    for (const listener of this.#listeners) listener(undefined);
  }

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
    this.#notify(changed);
    return changed.flatMap((one) => this.#meant(one));
  }

  isUsed({ kind, namespace, name }: ConfigKey): boolean {
    const remote = parseClusterObjectName(name);
    if (remote !== undefined) return kind === "Secret" && this.isReferenced(namespace, remote.name);
    return this.#isCounted("own", { kind, namespace, name }) || this.#isCounted("proxy", { kind, namespace, name });
  }

  isReferenced(namespace: string, name: string): boolean {
    return this.#isCounted("proxy", { kind: "Secret", namespace, name });
  }

  #isCounted(of: Scope, { kind, namespace, name }: ConfigKey): boolean {
    return [name, withoutRootSuffix(name)].some((one) =>
      [namespace, ""].some((where) =>
        this.#counts.has(credentialText.write({ of, kind, namespace: where, name: one })),
      ),
    );
  }

  #noteName(key: ConfigKey, exists: boolean): void {
    const name = parseClusterObjectName(key.name)?.name ?? key.name;
    const place = `${key.kind}/${name}`;
    const known = this.#known.get(place) ?? new Map<ConfigKeyText, ConfigKey>();
    const text = configKeyText(key);
    if (exists) this.#known.set(place, known.set(text, key));
    else if (known.delete(text) && known.size === 0) this.#known.delete(place);
  }

  #meant(reference: CredentialText): readonly ConfigKey[] {
    const { kind, namespace, name } = credentialText.read(reference);
    return withRootsName(name).flatMap((one) =>
      [...(this.#known.get(`${kind}/${one}`)?.values() ?? [])].filter(
        (key) => namespace === "" || namespace === key.namespace,
      ),
    );
  }

  #notify(changed: readonly CredentialText[]): void {
    if (!this.#isLoaded) return;
    for (const { of, namespace, name } of changed.map(credentialText.read))
      if (of === "proxy") for (const listener of this.#listeners) listener({ namespace, name });
  }
}

export function isCredential({ kind }: Pick<ConfigKey, "kind">): boolean {
  return kind === "Secret" || kind === "ConfigMap";
}

/** `proxy`: in the cluster of the proxy that asks, and in the own one. */
type Scope = "proxy" | "own";

/** Without a namespace, any: proxies that a Gateway selects may be in another one than the Gateway. */
const credentialText = textCodec<
  "CredentialReference",
  { readonly of: Scope; readonly kind: string; readonly namespace: string; readonly name: string }
>("CredentialReference", "/", ["of", "kind", "namespace", "name"]);
type CredentialText = TextOf<typeof credentialText>;

function referenceText({ kind, namespace = "", name, isOfProxy }: CredentialReference): CredentialText {
  return credentialText.write({ of: isOfProxy ? "proxy" : "own", kind, namespace, name });
}

function referencesOf({ key: { kind, namespace }, spec }: Config): readonly CredentialReference[] {
  const found = credentialReferences(namespace, spec);
  const isForOwnNamespace = kind === "DestinationRule" && (spec as { workloadSelector?: unknown }).workloadSelector;
  return isForOwnNamespace ? found.map((one) => ({ ...one, namespace: one.namespace ?? namespace })) : found;
}
