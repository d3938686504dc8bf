/** Access logs of a proxy: as Telemetry states, else the mesh's own file and the service of the bootstrap. */
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import {
  type AccessLog,
  AccessLogFilterSchema,
  AccessLogSchema,
  ComparisonFilter_Op as Comparison,
} from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import { ExpressionFilterSchema } from "@flotilla/proto/envoy/extensions/access_loggers/filters/cel/v3/cel_pb";
import { effectiveAccessLogging, type LogProvider, type TelemetryScope } from "../../snapshot/scope/telemetry.ts";
import { query, type View } from "../../snapshot/view.ts";
import { fileLog, type Log } from "../envoy/filters/file-log.ts";
import type { AccessLogs } from "../envoy/listeners/listener-traits.ts";
import { bootstrapServiceLogs, providerLog } from "./log-provider.ts";

export const accessLogs = query<AccessLogs, TelemetryScope>("access-logs", (view, scope) => {
  const stated = view.read(effectiveAccessLogging, scope);
  const logs = effectiveLogs(view, stated);
  const logsOf = (condition: Filter) =>
    logs.map(({ log, filter }) => accessLog(log, filter === "" ? condition : both(condition, expression(filter))));
  const all = logs.map(({ log, filter }) => accessLog(log, filter === "" ? undefined : expression(filter)));
  const toService = (kind: keyof typeof bootstrapServiceLogs, condition?: Filter) =>
    stated === undefined && view.mesh.enableEnvoyAccessLogService
      ? [accessLog(bootstrapServiceLogs[kind], condition)]
      : [];
  const connection = [...all, ...toService("connection")];
  return {
    request: [...all, ...toService("request")],
    connection,
    listener: view.mesh.disableEnvoyListenerLog ? [] : [...logsOf(noRoute), ...toService("listener", noRoute)],
    tunnelStart: logsOf(noConnection),
    tunnelPassed: stated === undefined ? connection : logsOf(noConnection),
    tunnelEnd: logsOf(isError),
  };
});

function effectiveLogs(
  view: View,
  providers: readonly LogProvider[] | undefined,
): readonly { readonly log: Log; readonly filter: string }[] {
  const { mesh } = view;
  if (providers !== undefined) {
    return providers.flatMap(({ name, filter }) => {
      const log = providerLog(view, name);
      return log === undefined ? [] : [{ log, filter }];
    });
  }
  return mesh.accessLogFile === "" ? [] : [{ log: fileLog(mesh, mesh.accessLogFile), filter: "" }];
}

type Filter = NonNullable<AccessLog["filter"]>;

function accessLog({ name, config }: Log, filter: Filter | undefined): AccessLog {
  return create(AccessLogSchema, {
    name,
    configType: { case: "typedConfig", value: config },
    ...(filter && { filter }),
  });
}

const noRoute = filterOf({ filterSpecifier: { case: "responseFlagFilter", value: { flags: ["NR"] } } });
const noConnection = filterOf({ filterSpecifier: { case: "responseFlagFilter", value: { flags: ["UF"] } } });
const isError = filterOf({
  filterSpecifier: {
    case: "statusCodeFilter",
    value: {
      comparison: { op: Comparison.GE, value: { defaultValue: 400, runtimeKey: "istio.io/unset" } },
    },
  },
});

function expression(text: string): Filter {
  const typedConfig = pack(ExpressionFilterSchema, create(ExpressionFilterSchema, { expression: text }));
  const name = "envoy.access_loggers.extension_filters.cel";
  return filterOf({
    filterSpecifier: {
      case: "extensionFilter",
      value: { name, configType: { case: "typedConfig", value: typedConfig } },
    },
  });
}

function both(first: Filter, second: Filter): Filter {
  return filterOf({ filterSpecifier: { case: "andFilter", value: { filters: [first, second] } } });
}

function filterOf(filter: MessageInitShape<typeof AccessLogFilterSchema>): Filter {
  return create(AccessLogFilterSchema, filter);
}
