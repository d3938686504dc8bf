/** WADS: the policies that ztunnels enforce. */
import type { AuthorizationInit } from "@flotilla/ambient";
import { create, typeUrl } from "@flotilla/proto";
import { AuthorizationSchema } from "@flotilla/proto/istio/security/authorization_pb";
import { ambientPolicy, ambientPolicyNames, policyText } from "../../snapshot/ambient/policies.ts";
import { createGenerator } from "../encode/generator.ts";

interface Inputs {
  readonly policy: AuthorizationInit;
}

export const authorizations = createGenerator({
  typeUrl: typeUrl.authorization,
  schema: AuthorizationSchema,
  names: (view) => (view.feature("ambient") ? view.read(ambientPolicyNames) : []),
  select: (view, name): Inputs | undefined => {
    const [namespace = "", own] = name.split("/");
    if (own === undefined || !view.feature("ambient")) return undefined;
    const policy = view.read(ambientPolicy, policyText.write({ namespace, name: own }));
    return policy && { policy };
  },
  build: ({ policy }) => create(AuthorizationSchema, policy),
});
