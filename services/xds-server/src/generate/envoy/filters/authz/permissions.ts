/** A rule's conditions on the request, as Envoy's permissions. */
import { create, pack } from "@flotilla/proto";
import { type Permission, PermissionSchema } from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import { UriTemplateMatchConfigSchema } from "@flotilla/proto/envoy/extensions/path/match/uri_template/v3/uri_template_match_pb";
import type { Field } from "./rule.ts";
import { isHttpOnly, type Matching, NotForTcp } from "./rule.ts";
import {
  anyOf,
  cidrRange,
  headerMatcher,
  listHolding,
  metadataMatcher,
  stringMatcher,
  valueMatcher,
} from "./values.ts";

export function permission(fields: readonly Field[], matching: Matching): Permission {
  const all = fields.flatMap((field) => fieldPermissions(field, matching));
  return and(all.length === 0 ? [create(PermissionSchema, { rule: { case: "any", value: true } })] : all);
}

export const neverPermission: Permission = not(create(PermissionSchema, { rule: { case: "any", value: true } }));

function fieldPermissions({ key, values, notValues }: Field, { tcp, widens }: Matching): readonly Permission[] {
  if (tcp && isHttpOnly(key)) {
    if (widens) return [];
    throw new NotForTcp(key);
  }
  return [
    ...(values.length === 0 ? [] : oneOf(key, values)),
    ...(notValues.length === 0 ? [] : oneOf(key, notValues).map(not)),
  ];
}

function oneOf(key: string, values: readonly string[]): readonly Permission[] {
  if (key.startsWith("experimental.")) return [filterMetadata(key, values)];
  const rules = values.flatMap((value) => single(key, value) ?? []);
  return rules.length === 0 ? [] : [create(PermissionSchema, { rule: { case: "orRules", value: { rules } } })];
}

function single(key: string, value: string): Permission | undefined {
  switch (key) {
    case "hosts":
      return create(PermissionSchema, { rule: { case: "header", value: headerMatcher(":authority", value, true) } });
    case "methods":
      return create(PermissionSchema, { rule: { case: "header", value: headerMatcher(":method", value) } });
    case "paths":
      return path(value);
    case "destination.ip": {
      const range = cidrRange(value);
      return range && create(PermissionSchema, { rule: { case: "destinationIp", value: range } });
    }
    case "destination.port":
      return create(PermissionSchema, { rule: { case: "destinationPort", value: Number(value) } });
    case "connection.sni":
      return create(PermissionSchema, { rule: { case: "requestedServerName", value: stringMatcher(value) } });
    default:
      return undefined;
  }
}

function path(value: string): Permission {
  if (!/\{\*{1,2}\}/.test(value)) {
    const rule = { rule: { case: "path" as const, value: stringMatcher(value) } };
    return create(PermissionSchema, { rule: { case: "urlPath", value: rule } });
  }
  const config = create(UriTemplateMatchConfigSchema, { pathTemplate: value.replace(/\{(\*{1,2})\}/g, "$1") });
  const template = { name: "uri-template", typedConfig: pack(UriTemplateMatchConfigSchema, config) };
  return create(PermissionSchema, { rule: { case: "uriTemplate", value: template } });
}

/** `experimental.envoy.filters.a.b[key]`; a value in brackets is looked for in a list. */
function filterMetadata(name: string, values: readonly string[]): Permission {
  const [, filter = "", key = ""] = /^experimental\.([^[]*)\[(.*)\]$/.exec(name) ?? [];
  const matchers = values.map((value) => {
    const inList = /^\[(.*)\]$/.exec(value)?.[1];
    const matcher = valueMatcher(stringMatcher(inList ?? value));
    return inList === undefined ? matcher : listHolding(matcher);
  });
  return create(PermissionSchema, {
    rule: { case: "metadata", value: metadataMatcher(filter, [key], anyOf(matchers)) },
  });
}

function and(rules: Permission[]): Permission {
  return create(PermissionSchema, { rule: { case: "andRules", value: { rules } } });
}

function not(rule: Permission): Permission {
  return create(PermissionSchema, { rule: { case: "notRule", value: rule } });
}
