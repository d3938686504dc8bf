/** The universal tags that X.509 uses, constructed where DER requires it. */
export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Context-specific tag `[n]`, with primitive contents. */
export const context = (n: number): number => 0x80 | n;
/** Context-specific tag `[n]`, with constructed contents. */
export const contextConstructed = (n: number): number => 0xa0 | n;
