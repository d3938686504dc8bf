/** Objects by kind and key, as one source has them in force. */
import { type Config, type ConfigKey, type ConfigKeyText, configKeyText } from "@flotilla/model";

interface Row {
  readonly config: Config;
  readonly eventTimeMs: number | undefined;
}

export class ConfigTable {
  readonly #kinds = new Map<string, Map<ConfigKeyText, Row>>();

  /** `eventTimeMs`: when its source changed, if that is known. */
  put(config: Config, eventTimeMs?: number): void {
    const { kind } = config.key;
    const rows = this.#kinds.get(kind) ?? new Map<ConfigKeyText, Row>();
    rows.set(configKeyText(config.key), { config, eventTimeMs });
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
    return this.#kinds.get(key.kind)?.get(configKeyText(key))?.config;
  }

  /** With the time of its last change in its provenance. */
  getDated(key: ConfigKey): Config | undefined {
    const row = this.#kinds.get(key.kind)?.get(configKeyText(key));
    return row && dated(row);
  }

  /** `namespace` "": of all. With the times of the last changes in their provenance. */
  listDated(kind: string, namespace: string): readonly Config[] {
    const rows = [...(this.#kinds.get(kind)?.values() ?? [])];
    return rows.filter(({ config }) => namespace === "" || config.key.namespace === namespace).map(dated);
  }

  get size(): number {
    return [...this.#kinds.values()].reduce((sum, rows) => sum + rows.size, 0);
  }

  kinds(): readonly string[] {
    return [...this.#kinds.keys()];
  }

  *of(kind: string): Generator<Config, void, undefined> {
    for (const { config } of this.#kinds.get(kind)?.values() ?? []) yield config;
  }
}

function dated({ config, eventTimeMs }: Row): Config {
  const { provenance } = config;
  return provenance === undefined || eventTimeMs === undefined || provenance.eventTimeMs !== undefined
    ? config
    : { ...config, provenance: { ...provenance, eventTimeMs } };
}
