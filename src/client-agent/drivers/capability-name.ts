/** Capabilities as the drivers compare them: `CAP_NET_RAW` and `net_raw` are one. */
export function capabilityName(written: string): string {
  return written.toLowerCase().replace(/^cap_/, '')
}
