/** TLS of servers: of Gateways, and of a Sidecar's ingress listeners. */
import { knownCipherSuites } from "@flotilla/model";
import type { Problem } from "../../problem.ts";
import { type Field, field, isSet, items, refuseIf, repeated, textOf, texts, warnIf } from "./field.ts";
import { quoted } from "./names.ts";
import { subjectNameProblems } from "./traffic-policy.ts";

const textSources = ["serverCertificate", "privateKey", "caCertificates", "credentialName"];
const listSources = ["tlsCertificates", "credentialNames"];

/** Nothing for absent settings. */
export function serverTlsProblems(tls: Field): readonly Problem[] {
  if (!isSet(tls)) return [];
  const mode = textOf(field(tls, "mode")) || "PASSTHROUGH";
  const isPassed = mode === "PASSTHROUGH" || mode === "AUTO_PASSTHROUGH";
  const given = sourcesOf(tls);
  return [
    ...protocolVersionProblems(tls),
    ...cipherProblems(tls),
    ...subjectNameProblems(tls),
    ...(mode === "ISTIO_MUTUAL"
      ? given.flatMap((name) =>
          refuseIf(true, field(tls, name), "must not be set for mode ISTIO_MUTUAL, which has its own"),
        )
      : [
          ...warnIf(
            isPassed && (given.length > 0 || textOf(field(tls, "caCrl")) !== ""),
            tls,
            `certificates have no effect: mode ${mode} leaves TLS to the service`,
          ),
          ...sourceProblems(tls, given),
          ...(isPassed ? [] : certificateProblems(tls, mode)),
          ...revocationProblems(tls, mode),
        ]),
  ];
}

function sourcesOf(tls: Field): readonly string[] {
  return [
    ...textSources.filter((name) => textOf(field(tls, name)) !== ""),
    ...listSources.filter((name) => items(tls, name).length > 0),
  ];
}

function protocolVersionProblems(tls: Field): readonly Problem[] {
  const version = field(tls, "minProtocolVersion");
  const isOld = ["TLSV1_0", "TLSV1_1"].includes(textOf(version));
  const reason = "needs cipherSuites: those that are set by default are for TLS 1.2 and later";
  return warnIf(isOld && texts(tls, "cipherSuites").length === 0, version, reason);
}

function cipherProblems(tls: Field): readonly Problem[] {
  const suites = texts(tls, "cipherSuites");
  // Expressions such as `-ALL` and `ALL` are left to BoringSSL; PSK suites need a key that no mesh has.
  const isKnown = (suite: string) =>
    suite === "ALL" ||
    !/^[\p{L}\p{N}]/u.test(suite) ||
    (knownCipherSuites([suite]).length > 0 && !suite.includes("PSK"));
  return [
    ...suites.flatMap((suite) =>
      warnIf(
        !isKnown(suite.value),
        suite,
        `${quoted(suite.value)} is no cipher suite that Envoy supports, and left out`,
      ),
    ),
    ...repeated(suites, textOf)
      .filter((suite) => isKnown(textOf(suite)))
      .flatMap((suite) => warnIf(true, suite, `${textOf(suite)} stands twice`)),
  ];
}

/** Where the certificate is from: files, a Secret, several of them. */
function sourceProblems(tls: Field, given: readonly string[]): readonly Problem[] {
  const hasFiles = given.includes("serverCertificate") && given.includes("privateKey");
  const ways = ["credentialName", "credentialNames", "tlsCertificates"].filter((name) => given.includes(name));
  const reason =
    "only one of serverCertificate with privateKey, credentialName, credentialNames and tlsCertificates can be set";
  return refuseIf(ways.length + (hasFiles ? 1 : 0) > 1, tls, reason);
}

const maxCertificates = 2;

/** Modes SIMPLE, MUTUAL and OPTIONAL_MUTUAL: a certificate of the server's and, for the latter two, one to verify clients by. */
function certificateProblems(tls: Field, mode: string): readonly Problem[] {
  const fromSecret = textOf(field(tls, "credentialName")) !== "" || items(tls, "credentialNames").length > 0;
  if (fromSecret) return [];
  const roots = field(tls, "caCertificates");
  const pairs = items(tls, "tlsCertificates");
  return [
    ...refuseIf(mode !== "SIMPLE" && textOf(roots) === "", roots, `is required for mode ${mode}, to verify clients`),
    ...warnIf(pairs.length > maxCertificates, field(tls, "tlsCertificates"), `${maxCertificates} certificates count`),
    ...(pairs.length > 0 ? pairs : [tls]).flatMap((pair) =>
      ["serverCertificate", "privateKey"].flatMap((name) =>
        refuseIf(textOf(field(pair, name)) === "", field(pair, name), `is required for mode ${mode}`),
      ),
    ),
  ];
}

function revocationProblems(tls: Field, mode: string): readonly Problem[] {
  const list = field(tls, "caCrl");
  if (textOf(list) === "") return [];
  return [
    ...refuseIf(textOf(field(tls, "credentialName")) !== "", list, "belongs into the Secret of credentialName"),
    ...refuseIf(mode === "SIMPLE", list, "has no use for mode SIMPLE, where clients have no certificates"),
  ];
}
