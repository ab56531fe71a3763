/** The `url` of a configuration: one URL of a directory, or several with commas between, in the order they are tried. */
import { isIP } from 'node:net'

export type DirectoryUrl = {
  /** As it was written, for logs. */
  readonly text: string
  readonly secure: boolean
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
}

export const urlsMax = 16

/** Null stands for one that is none: it counts as a directory that cannot be reached. */
export function parseUrls(text: string): readonly (DirectoryUrl | null)[] {
  return text
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '')
    .slice(0, urlsMax)
    .map(parseUrl)
}

function parseUrl(text: string): DirectoryUrl | null {
  const match = /^(ldaps?):\/\/(\[[0-9a-f:.]+\]|[^/?#:@[\]\s]*)(?::(\d{1,5}))?(?:\/.*)?$/i.exec(
    text,
  )
  if (match === null) return null
  const secure = match[1]?.toLowerCase() === 'ldaps'
  const host = (match[2] ?? '').replace(/^\[(.*)\]$/, '$1')
  const port = match[3] === undefined ? (secure ? 636 : 389) : Number(match[3])
  if (port < 1 || port > 65_535) return null
  if (match[2]?.startsWith('[') === true && isIP(host) !== 6) return null
  return { text, secure, host: host === '' ? 'localhost' : host, port }
}
