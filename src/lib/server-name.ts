/** What servers and client agents may be called. */

const namePattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/

export function isServerName(text: string): boolean {
  return namePattern.test(text)
}
