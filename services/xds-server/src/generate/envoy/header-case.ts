/** Names of HTTP/1.1 headers as the peer wrote them, instead of in lower case. */
import { create, pack } from "@flotilla/proto";
import {
  type Http1ProtocolOptions_HeaderKeyFormat,
  Http1ProtocolOptions_HeaderKeyFormatSchema,
} from "@flotilla/proto/envoy/config/core/v3/protocol_pb";
import { PreserveCaseFormatterConfigSchema } from "@flotilla/proto/envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case_pb";

const keyFormat: Http1ProtocolOptions_HeaderKeyFormat = create(Http1ProtocolOptions_HeaderKeyFormatSchema, {
  headerFormat: {
    case: "statefulFormatter",
    value: {
      name: "preserve_case",
      typedConfig: pack(PreserveCaseFormatterConfigSchema, create(PreserveCaseFormatterConfigSchema)),
    },
  },
});

export function headerCase(isPreserved: boolean): { headerKeyFormat?: Http1ProtocolOptions_HeaderKeyFormat } {
  return isPreserved ? { headerKeyFormat: keyFormat } : {};
}
