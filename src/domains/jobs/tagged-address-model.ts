/** A text of `TaggedAddresses`: `host`, `host:port`, or with an IPv6 host `::1` or `[::1]:port`. */
const portMax = 65_535

/** `port`: null where it has none. Null: it is none of these. */
export function addressOf(
  text: string,
): { readonly address: string; readonly port: number | null } | null {
  const [, inBrackets, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? []
  const address = inBrackets ?? plain
  if (address === undefined) {
    return text === '' || /[[\]\s]|^[^:]*:[^:]*$/.test(text) ? null : { address: text, port: null }
  }
  return Number(port) <= portMax ? { address, port: Number(port) } : null
}
