/** A request with its whole body, as it goes over the wire: one write. */
import { hostPort, type HttpAddress } from '../lib/host-port.ts'

export type WholeRequest = {
  readonly method: string
  /** Path and query string. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Uint8Array | null
}

const tokenPattern = /^[-!#$%&'*+.^_`|~0-9A-Za-z]+$/
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/
const urlPattern = /^[\x21-\x7e]+$/
/** Of the connection, which this agent alone decides about; a body's length is that of the body. */
const ownHeaders: readonly string[] = ['host', 'connection', 'content-length', 'transfer-encoding']
/** Of a method where a server expects no body, its absence need not be told. */
const bodilessMethods: readonly string[] = ['GET', 'DELETE']

/** A character for each byte. Throws a TypeError for what would not be this one request to the server. */
export function requestText(
  { host, port }: HttpAddress,
  { method, url, headers, body }: WholeRequest,
): string {
  if (!tokenPattern.test(method) || !urlPattern.test(url)) {
    throw new TypeError('a method or a path has characters that no request line may have')
  }
  let text = `${method} ${url} HTTP/1.1\r\nhost: ${hostPort(host, port)}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || ownHeaders.includes(name)) continue
    if (typeof value === 'string') text += lineOf(name, value)
    else for (const one of value) text += lineOf(name, one)
  }
  if (body === null) return `${text}${bodilessMethods.includes(method) ? '' : noBody}\r\n`
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  return `${text}content-length: ${body.length}\r\n\r\n${bytes.toString('latin1')}`
}

const noBody = 'content-length: 0\r\n'

function lineOf(name: string, value: string): string {
  if (tokenPattern.test(name) && valuePattern.test(value)) return `${name}: ${value}\r\n`
  throw new TypeError(`the header ${JSON.stringify(name)} has characters that none may have`)
}
