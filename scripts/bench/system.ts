/** What the bench needs of a system under test: three members, one of them leading. */
export type Member = { readonly httpPort: number; readonly pid: number | null }

export type ReadKind = 'linearizable' | 'stale'

export interface System {
  readonly name: string
  member(at: number): Member
  readonly size: number
  /** Waits for a leader that all members know. */
  leader(): Promise<number>
  /** The term of that leader: it grows by one or more with each election. */
  term(): Promise<number>
  kill(at: number): Promise<void>
  /** Starts a killed member again. */
  launch(at: number): Promise<void>
  /** As `launch`, and waits until it serves. */
  revive(at: number): Promise<void>
  /** One whole HTTP request each. */
  putRequest(key: number): string
  getRequest(key: number, kind: ReadKind): string
  /** Of the plain store of keys and values, where that is another. */
  keyPutRequest(key: number): string
  /** With default consistency. */
  keyGetRequest(key: number): string
  /** Creates a session; where there are none, the nearest write there is. */
  sessionRequest(key: number): string
  stop(): Promise<void>
}

/** Keys that writes and reads go round. */
export const keys = 1_000
export const valueBytes = 200

export function keyOf(key: number): string {
  return `bench/${key}`
}

/** Different for every key, the same for every system; printable. */
export function valueOf(key: number): string {
  return `${key}-`.padEnd(valueBytes, 'abcdefghijklmnopqrstuvwxyz0123456789')
}

export function httpRequest(method: string, path: string, body: string | null): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`
  if (body === null) return `${head}\r\n`
  const length = Buffer.byteLength(body)
  return `${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`
}
