/** A token with the claims of a service account and no valid signature, for control planes that look at the claims alone. */
export function unsignedToken({
  namespace,
  serviceAccount,
}: {
  readonly namespace: string;
  readonly serviceAccount: string;
}): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const claims = {
    iss: "https://kubernetes.default.svc",
    aud: ["istio-ca"],
    // 2100
    exp: 4_102_444_800,
    sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
    "kubernetes.io": { namespace, serviceaccount: { name: serviceAccount } },
  };
  return `${encode({ alg: "RS256", kid: "scenario" })}.${encode(claims)}.${Buffer.from("none").toString("base64url")}`;
}
