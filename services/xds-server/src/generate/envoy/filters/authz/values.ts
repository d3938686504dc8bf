/** Values of policies as Envoy's matchers: exact, `prefix*`, `*suffix`, or `*` for anything there is. */
import { parseCidr, quoteRegex } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type CidrRange, CidrRangeSchema } from "@flotilla/proto/envoy/config/core/v3/address_pb";
import { type HeaderMatcher, HeaderMatcherSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { type MetadataMatcher, MetadataMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/metadata_pb";
import { type StringMatcher, StringMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/string_pb";
import { type ValueMatcher, ValueMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/value_pb";

export function regex(text: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: { regex: text } } });
}

/** @param before stands before every exact value and prefix */
export function stringMatcher(value: string, before = "", ignoreCase = false): StringMatcher {
  if (value === "*") return regex(".+");
  if (value.endsWith("*"))
    return create(StringMatcherSchema, {
      matchPattern: { case: "prefix", value: before + value.slice(0, -1) },
      ignoreCase,
    });
  if (value.startsWith("*")) {
    return before === ""
      ? create(StringMatcherSchema, { matchPattern: { case: "suffix", value: value.slice(1) }, ignoreCase })
      : regex(`${before}.*${quoteRegex(value.slice(1))}`);
  }
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value: before + value }, ignoreCase });
}

export function headerMatcher(name: string, value: string, ignoreCase = false): HeaderMatcher {
  return create(HeaderMatcherSchema, {
    name,
    headerMatchSpecifier:
      value === "*"
        ? { case: "presentMatch", value: true }
        : { case: "stringMatch", value: stringMatcher(value, "", ignoreCase) },
  });
}

/** Undefined for what is no address. */
export function cidrRange(text: string): CidrRange | undefined {
  const cidr = parseCidr(text);
  return cidr && create(CidrRangeSchema, { addressPrefix: cidr.address, prefixLen: cidr.length });
}

export function metadataMatcher(filter: string, path: readonly string[], value: ValueMatcher): MetadataMatcher {
  const segments = path.map((key) => ({ segment: { case: "key" as const, value: key } }));
  return create(MetadataMatcherSchema, { filter, path: segments, value });
}

export function anyOf(values: readonly ValueMatcher[]): ValueMatcher {
  const [only] = values;
  if (values.length === 1 && only !== undefined) return only;
  return create(ValueMatcherSchema, { matchPattern: { case: "orMatch", value: { valueMatchers: [...values] } } });
}

export function listHolding(value: ValueMatcher): ValueMatcher {
  return create(ValueMatcherSchema, {
    matchPattern: { case: "listMatch", value: { matchPattern: { case: "oneOf", value } } },
  });
}

export function valueMatcher(value: StringMatcher): ValueMatcher {
  return create(ValueMatcherSchema, { matchPattern: { case: "stringMatch", value } });
}
