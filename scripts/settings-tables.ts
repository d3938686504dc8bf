/** The settings of every service. */
import type { SettingsTable } from "@flotilla/runtime";
import { settings as ca } from "../services/ca/src/settings.ts";
import { settings as configController } from "../services/config-controller/src/settings.ts";
import { settings as console } from "../services/console/src/settings.ts";
import { settings as serviceController } from "../services/service-controller/src/settings.ts";
import { settings as webhook } from "../services/webhook/src/settings.ts";
import { settings as xdsServer } from "../services/xds-server/src/settings.ts";

export const settingsTables: Readonly<Record<string, SettingsTable>> = {
  ca,
  "config-controller": configController,
  console,
  "service-controller": serviceController,
  webhook,
  "xds-server": xdsServer,
};
