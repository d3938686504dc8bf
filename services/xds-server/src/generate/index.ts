/** Every generator of the control plane, by the key under which it is looked up (registry.ts). */
import type { Generator } from "./generator.ts";

export const generators: ReadonlyMap<string, Generator> = new Map<string, Generator>([]);
