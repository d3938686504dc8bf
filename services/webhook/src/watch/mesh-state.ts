/**
 * The mesh's state that injection needs: its MeshConfig, the annotations of namespaces and ProxyConfigs, from config-controller's events.
 * The last MeshConfig is kept in a file, so that a webhook that starts while everything else is down injects as before.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { type Bus, filters, subscribe } from "@flotilla/bus";
import type { Json, Texts } from "@flotilla/injection";
import {
  type Config,
  type ConfigChange,
  configKeyText,
  defaultMeshConfig,
  type ProxyConfigLayers,
  proxyConfigLayers,
} from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";

export interface MeshListener {
  /** The stored events have been read. */
  readonly onHeard: () => void;
  readonly onChange: (change: ConfigChange) => void;
}

export class MeshState {
  readonly #file: string;
  readonly #log: Logger;
  readonly #namespaces = new Map<string, Texts>();
  readonly #proxyConfigs = new Map<string, Config>();
  #mesh: Json = defaultMeshConfig;
  #revision = 0;

  constructor(file: string, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  get mesh(): Json {
    return this.#mesh;
  }

  /** Another one after each change of what injection reads. */
  get revision(): number {
    return this.#revision;
  }

  namespaceAnnotations(namespace: string): Texts {
    return this.#namespaces.get(namespace) ?? {};
  }

  /** Of the ProxyConfig objects for a pod with these labels. */
  proxyConfigs(namespace: string, labels: Texts): ProxyConfigLayers {
    const rootNamespace = String(this.#mesh["rootNamespace"] ?? "");
    return proxyConfigLayers(this.#proxyConfigs.values(), { rootNamespace, namespace, labels });
  }

  /** False when there is no copy of an earlier life: the defaults hold until the first event. */
  async restore(): Promise<boolean> {
    try {
      this.#mesh = JSON.parse(await readFile(this.#file, "utf8")) as Json;
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOENT") {
        this.#log.warn("saved mesh configuration unreadable", { file: this.#file, error });
      }
      return false;
    }
  }

  /** Runs until `stop`. */
  async follow(bus: Bus, { onHeard, onChange }: MeshListener, stop: AbortSignal): Promise<void> {
    const options = { bus, filter: filters.config, afterSequence: 0, seal: undefined };
    for await (const item of subscribe(options, stop)) {
      if (item.kind === "caught-up") onHeard();
      if (item.kind !== "group") continue;
      for (const change of item.group.changes) {
        if (change.type !== "config") continue;
        await this.#setConfig(change);
        onChange(change);
      }
    }
  }

  async #setConfig(change: ConfigChange): Promise<void> {
    const { kind, name } = change.key;
    if (["Namespace", "ProxyConfig", "MeshConfig"].includes(kind)) this.#revision += 1;
    if (kind === "Namespace") {
      if (change.op === "put") this.#namespaces.set(name, change.value.annotations);
      else this.#namespaces.delete(name);
    }
    if (kind === "ProxyConfig") {
      if (change.op === "put") this.#proxyConfigs.set(configKeyText(change.key), change.value);
      else this.#proxyConfigs.delete(configKeyText(change.key));
    }
    if (kind !== "MeshConfig") return;
    this.#mesh = change.op === "put" ? (change.value.spec as Json) : defaultMeshConfig;
    this.#log.info("mesh configuration in force", { op: change.op });
    await this.#keep();
  }

  /** Not being able to keep it is no reason not to use it. */
  async #keep(): Promise<void> {
    try {
      await mkdir(dirname(this.#file), { recursive: true });
      await replaceFile(this.#file, JSON.stringify(this.#mesh), 0o600);
    } catch (error) {
      this.#log.warn("mesh configuration not saved", { file: this.#file, error });
    }
  }
}
