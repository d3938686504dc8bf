/** Spreads connections evenly over the proxy's threads, at the cost of a lock for each. */
import { create } from "@flotilla/proto";
import { Listener_ConnectionBalanceConfigSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";

export const exactBalance = create(Listener_ConnectionBalanceConfigSchema, {
  balanceType: { case: "exactBalance", value: {} },
});
