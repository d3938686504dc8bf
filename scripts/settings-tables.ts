/** The settings of every service. */
import type { SettingsTable } from "@flotilla/runtime";
import { settings as ca } from "../services/ca/src/config.ts";
import { settings as configController } from "../services/config-controller/src/config.ts";
import { settings as serviceController } from "../services/service-controller/src/config.ts";
import { settings as webhook } from "../services/webhook/src/config.ts";
import { settings as xdsServer } from "../services/xds-server/src/config.ts";

export const settingsTables: Readonly<Record<string, SettingsTable>> = {
  ca,
  "config-controller": configController,
  "service-controller": serviceController,
  webhook,
  "xds-server": xdsServer,
};
