/** What may stand in a certificate. */
import { isIP } from 'node:net'

/** A label of a DNS name: a region stands in one. */
const labelPattern = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
const dnsPattern =
  /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/
const dnsLengthMax = 253

export function isRegion(text: string): boolean {
  return labelPattern.test(text)
}

export function isDnsName(text: string): boolean {
  return text.length <= dnsLengthMax && dnsPattern.test(text)
}

export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0
}
