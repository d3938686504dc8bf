/** The settings that decide who is sent Secrets. */
import { flag, list } from "@flotilla/runtime";

export const secretSettings = {
  secretReaders: list({
    env: "SECRET_READERS",
    default: [],
    sentence:
      "Without a Kubernetes API: the accounts that may have the key pairs of their namespace, as namespace/account, namespace/* or *; if not set, routers and those that a DestinationRule selects.",
  }),
  remoteSecrets: flag({
    env: "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER",
    default: true,
    sentence:
      "API servers of other clusters are asked for the rights of accounts there; without it, none of these may read Secrets. config-controller needs it too.",
  }),
} as const;
