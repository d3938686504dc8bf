/** True where an encoded cluster takes its endpoints by EDS under its own name; read off the bytes, not decoded. */

const typeField = 2;
const edsConfigField = 3;
const edsType = 3;

export function isEdsCluster(bytes: Uint8Array): boolean {
  let at = 0;
  let isEds = false;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) return value;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0: {
        const value = varint();
        if (field === typeField) isEds = value === edsType;
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const end = varint() + at;
        if (field === edsConfigField && hasServiceName(bytes.subarray(at, end))) return false;
        at = end;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return false;
    }
  }
  return isEds;
}

/** EdsClusterConfig holds two length-delimited fields: eds_config (1) and service_name (2). */
function hasServiceName(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] === 0x12) return true;
    at++;
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      length += (byte & 127) * factor;
      if (byte < 128) break;
    }
    at += length;
  }
  return false;
}
