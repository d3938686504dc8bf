/** Where the services are, by the settings. */
import { RuntimeError } from "@flotilla/runtime";
import type { Settings } from "../settings.ts";
import type { Address, Addresses } from "./services.ts";

/** @throws RuntimeError SETTINGS_INVALID */
export function addressesOf(settings: Settings): Addresses {
  const of = (service: string, given: readonly string[]) => given.map((text) => addressOf(service, text, given.length));
  return {
    "config-controller": of("config-controller", settings.configControllerPages),
    "service-controller": of("service-controller", settings.serviceControllerPages),
    "xds-server": of("xds-server", settings.xdsServerPages),
    ca: of("ca", settings.caPages),
    webhook: of("webhook", settings.webhookPages),
  };
}

/** `URL` or `NAME=URL`; without a name, that of the service, or its host where there are several. */
function addressOf(service: string, text: string, count: number): Address {
  const [, name, url = ""] = /^(?:([\w.-]+)=)?(.+)$/.exec(text) ?? [];
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new RuntimeError("SETTINGS_INVALID", `${text} of ${service} is neither URL nor NAME=URL`);
  return { name: name ?? (count === 1 ? service : parsed.host), url: url.endsWith("/") ? url.slice(0, -1) : url };
}
