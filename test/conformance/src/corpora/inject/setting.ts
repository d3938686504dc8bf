import type { InjectionConfig, InjectionEnvironment } from "@flotilla/injection";

export type Json = Readonly<Record<string, unknown>>;

/** All that enters an injection beside the workload. */
export interface Setting {
  readonly config: InjectionConfig;
  readonly environment: InjectionEnvironment;
  readonly mesh: Json;
}
