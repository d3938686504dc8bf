/** Tables of settings alone, for code that needs neither logs nor metrics. */
export { complianceSetting, tlsPortSettings } from "./compliance.ts";
export { decimal, duration, flag, integer, list, listOf, oneOf, port, text, texts, url } from "./kinds.ts";
export {
  describeSettings,
  nearestName,
  parseSettings,
  type Setting,
  type SettingOptions,
  type SettingRow,
  type SettingsOf,
  type SettingsTable,
  type ShownSetting,
  type UnknownSetting,
  unknownSettings,
} from "./settings.ts";
