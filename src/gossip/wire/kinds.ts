/** The first byte of whatever the failure detector sends, fixed by what other programs speak. */
export const kind = {
  ping: 0,
  indirectPing: 1,
  ack: 2,
  suspect: 3,
  alive: 4,
  dead: 5,
  pushPull: 6,
  compound: 7,
  user: 8,
  compressed: 9,
  /** On streams only; an encrypted packet begins with the version of the encryption. */
  encrypted: 10,
  nack: 11,
  checksum: 12,
  error: 13,
  label: 244,
} as const
