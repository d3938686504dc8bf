/** Settings of the webhook that replace values of the injection configuration, from wherever that one comes. */

import type { InjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";
import type { Json } from "./pod.ts";

export interface ValueSettings {
  /** hub/name:tag */
  readonly proxyImage: string | undefined;
  /** Name of the ConfigMap. */
  readonly rootConfigMap: string | undefined;
  /** Of the control plane, from where proxies get their certificates. */
  readonly namespace: string;
}

const image = /^(?<hub>.+)\/(?<name>[^/:@]+):(?<tag>[^/:@]+)$/;

/** @throws InjectionError INJECT_BAD_CONFIG for an image that is not hub/name:tag */
export function valueOverrides({
  proxyImage,
  rootConfigMap,
  namespace: istioNamespace,
}: ValueSettings): (config: InjectionConfig) => InjectionConfig {
  const parts = proxyImage === undefined ? undefined : image.exec(proxyImage)?.groups;
  if (proxyImage !== undefined && parts === undefined)
    throw new InjectionError("INJECT_BAD_CONFIG", `PROXY_IMAGE: ${proxyImage} is not hub/name:tag`);
  return (config) => {
    const global = (config.values["global"] ?? {}) as Json;
    const proxy = parts && {
      hub: parts["hub"],
      tag: parts["tag"],
      variant: "",
      proxy: { ...(global["proxy"] as Json | undefined), image: parts["name"] },
      proxy_init: { ...(global["proxy_init"] as Json | undefined), image: parts["name"] },
    };
    const bundle = rootConfigMap !== undefined && { trustBundleName: rootConfigMap };
    return { ...config, values: { ...config.values, global: { ...global, ...proxy, ...bundle, istioNamespace } } };
  };
}
