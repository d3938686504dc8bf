/** Objects by kind and key, as one source has them in force. */
import { type Config, type ConfigKey, type ConfigKeyText, configKeyText, parseConfigKey } from "@flotilla/model";

interface Row {
  /** As text when it is packed. */
  readonly held: Config | string;
  readonly eventTimeMs: number | undefined;
}

export interface HeldConfig {
  readonly text: ConfigKeyText;
  readonly read: () => Config;
}

export class ConfigTable {
  readonly #kinds = new Map<string, Map<ConfigKeyText, Row>>();
  readonly #isPacked: boolean;

  /** `isPacked`: objects are held as the text of their JSON, a third of what they take otherwise: many are held, few are looked at. */
  constructor({ isPacked = false }: { readonly isPacked?: boolean } = {}) {
    this.#isPacked = isPacked;
  }

  /** `eventTimeMs`: when its source changed, if that is known. */
  put(config: Config, eventTimeMs?: number): void {
    const { kind } = config.key;
    const rows = this.#kinds.get(kind) ?? new Map<ConfigKeyText, Row>();
    rows.set(configKeyText(config.key), { held: this.#isPacked ? JSON.stringify(config) : config, eventTimeMs });
    this.#kinds.set(kind, rows);
  }

  delete(key: ConfigKey): void {
    const rows = this.#kinds.get(key.kind);
    rows?.delete(configKeyText(key));
    if (rows?.size === 0) this.#kinds.delete(key.kind);
  }

  has(key: ConfigKey): boolean {
    return this.#kinds.get(key.kind)?.has(configKeyText(key)) === true;
  }

  get(key: ConfigKey): Config | undefined {
    const row = this.#kinds.get(key.kind)?.get(configKeyText(key));
    return row && read(row);
  }

  /** With the time of its last change in its provenance. */
  getDated(key: ConfigKey): Config | undefined {
    const row = this.#kinds.get(key.kind)?.get(configKeyText(key));
    return row && dated(row);
  }

  /** `namespace` "": of all. With the times of the last changes in their provenance. */
  listDated(kind: string, namespace: string): readonly Config[] {
    const rows = [...(this.#kinds.get(kind) ?? [])];
    return rows
      .filter(([text]) => namespace === "" || parseConfigKey(text).namespace === namespace)
      .map(([, row]) => dated(row));
  }

  /** As they are now; each is unpacked when it is asked for. */
  held(kind: string): readonly HeldConfig[] {
    return Array.from(this.#kinds.get(kind) ?? [], ([text, row]) => ({ text, read: () => read(row) }));
  }

  get size(): number {
    return [...this.#kinds.values()].reduce((sum, rows) => sum + rows.size, 0);
  }

  kinds(): readonly string[] {
    return [...this.#kinds.keys()];
  }

  *keysOf(kind: string): Generator<ConfigKey, void, undefined> {
    for (const text of this.#kinds.get(kind)?.keys() ?? []) yield parseConfigKey(text);
  }

  *of(kind: string): Generator<Config, void, undefined> {
    for (const row of this.#kinds.get(kind)?.values() ?? []) yield read(row);
  }
}

function read({ held }: Row): Config {
  return typeof held === "string" ? (JSON.parse(held) as Config) : held;
}

function dated(row: Row): Config {
  const [config, { eventTimeMs }] = [read(row), row];
  const { provenance } = config;
  return provenance === undefined || eventTimeMs === undefined || provenance.eventTimeMs !== undefined
    ? config
    : { ...config, provenance: { ...provenance, eventTimeMs } };
}
