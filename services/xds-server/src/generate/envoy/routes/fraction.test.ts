/** Percentages and addresses in Envoy's form. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { create } from "@flotilla/proto";
import { pipeAddress, socketAddress } from "@flotilla/proto/addresses";
import { FractionalPercent_DenominatorType as Denominator } from "@flotilla/proto/envoy/type/v3/percent_pb";
import { PercentSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { hundredths, millionths } from "./fraction.ts";

it("percentages of Istio are exact to the millionth", () => {
  const { numerator, denominator } = millionths(create(PercentSchema, { value: 12.34567 }));
  assert.deepEqual([numerator, denominator], [123_456, Denominator.MILLION]);
  const hundred = hundredths(7);
  assert.deepEqual([hundred.numerator, hundred.denominator], [7, Denominator.HUNDRED]);
});

it("an address is a port of an IP, or a socket in the file system", () => {
  const { address } = socketAddress("10.0.0.1", 80);
  assert.ok(address.case === "socketAddress");
  assert.equal(address.value.address, "10.0.0.1");
  assert.deepEqual(address.value.portSpecifier, { case: "portValue", value: 80 });
  const pipe = pipeAddress("/run/x").address;
  assert.ok(pipe.case === "pipe");
  assert.equal(pipe.value.path, "/run/x");
});
