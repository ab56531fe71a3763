/** The path of a request, as it was sent and as it is read. */
import { MusterError } from '../lib/errors.ts'
import { hasJsonErrors } from './errors.ts'
import { withoutSlashesAtEnd } from '../lib/slashes.ts'

export function pathOf(url: string): string {
  const cut = url.indexOf('?')
  return cut < 0 ? url : url.slice(0, cut)
}

/** 400 for a broken escape or invalid UTF-8. */
export function decodePath(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new MusterError('invalid_argument', 'the path has a broken percent escape')
  }
}

/** For clients of Vault a slash at the end changes nothing. `tail` of a route with `*` has it still. */
export function withoutTrailingSlash(url: string): string {
  const path = pathOf(url)
  if (!path.endsWith('/')) return url
  const shorter = withoutSlashesAtEnd(path)
  return hasJsonErrors(shorter) ? shorter + url.slice(path.length) : url
}
