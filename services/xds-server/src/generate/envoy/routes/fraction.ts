/** Percentages of Istio as Envoy's fractions. */
import { create } from "@flotilla/proto";
import {
  type FractionalPercent,
  FractionalPercent_DenominatorType,
  FractionalPercentSchema,
} from "@flotilla/proto/envoy/type/v3/percent_pb";
import type { Percent } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

/** Exact to the millionth. */
export function millionths({ value }: Percent): FractionalPercent {
  const numerator = Math.trunc(value * 10_000);
  return create(FractionalPercentSchema, { numerator, denominator: FractionalPercent_DenominatorType.MILLION });
}

export function hundredths(numerator: number): FractionalPercent {
  return create(FractionalPercentSchema, { numerator, denominator: FractionalPercent_DenominatorType.HUNDRED });
}
