/**
 * Versions and conditions on them, as the operands `version` and `semver` of constraints have them: `>= 1.2, < 2.0`. A version
 * has numbers between dots, then may have a pre-release after `-` and metadata after `+`, which is not compared.
 */
export type Version = {
  readonly numbers: readonly number[]
  /** Empty: it is a release. */
  readonly pre: readonly string[]
}

type Condition = {
  readonly operator: string
  readonly version: Version
  /** Numbers that the condition wrote. */
  readonly precision: number
}

const versionForm = /^v?(\d{1,9}(?:\.\d{1,9}){0,8})(?:-([\w.-]+))?(?:\+[\w.-]+)?$/
const conditionForm = /^(=|!=|>=|<=|>|<|~>)?\s*(\S+)$/

export function parseVersion(text: string): Version | null {
  const match = versionForm.exec(text.trim())
  if (match === null) return null
  const [, numbers = '', pre = ''] = match
  return { numbers: numbers.split('.').map(Number), pre: pre === '' ? [] : pre.split('.') }
}

/** `kind` semver: exactly three numbers, and pre-releases in their order. Version: a pre-release only where a condition names one. */
export function meetsVersions(
  text: string,
  conditions: string,
  kind: 'version' | 'semver',
): boolean {
  const version = parseVersion(text)
  if (version === null || (kind === 'semver' && version.numbers.length > 3)) return false
  return conditions.split(',').every((part) => {
    const condition = parseCondition(part)
    return condition !== null && meets(version, condition, kind)
  })
}

function parseCondition(text: string): Condition | null {
  const match = conditionForm.exec(text.trim())
  if (match === null) return null
  const [, operator = '=', written = ''] = match
  const version = parseVersion(written)
  return version === null ? null : { operator, version, precision: version.numbers.length }
}

function meets(
  version: Version,
  { operator, version: wanted, precision }: Condition,
  kind: 'version' | 'semver',
): boolean {
  const order = compareVersions(version, wanted)
  if (operator === '=') return order === 0
  if (operator === '!=') return order !== 0
  // 2.0.0-beta is below 2.0.0, and yet no release that `< 2.0` or `> 1.0` means.
  if (kind === 'version' && version.pre.length > 0 && !isPreReleaseOf(version, wanted)) return false
  switch (operator) {
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    default:
      return order >= 0 && sharesFront(version, wanted, Math.max(1, precision - 1))
  }
}

function isPreReleaseOf(version: Version, wanted: Version): boolean {
  return wanted.pre.length > 0 && compareNumbers(version, wanted) === 0
}

function sharesFront(left: Version, right: Version, count: number): boolean {
  for (let at = 0; at < count; at += 1) {
    if ((left.numbers[at] ?? 0) !== (right.numbers[at] ?? 0)) return false
  }
  return true
}

/** Below 0: `left` comes first. */
export function compareVersions(left: Version, right: Version): number {
  const numbers = compareNumbers(left, right)
  return numbers === 0 ? comparePre(left.pre, right.pre) : numbers
}

function compareNumbers(left: Version, right: Version): number {
  const length = Math.max(left.numbers.length, right.numbers.length)
  for (let at = 0; at < length; at += 1) {
    const difference = (left.numbers[at] ?? 0) - (right.numbers[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** A release comes after its pre-releases; numbers before words. */
function comparePre(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 || right.length === 0) return right.length - left.length
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const [one, other] = [left[at], right[at]]
    if (one === undefined) return -1
    if (other === undefined) return 1
    if (one === other) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)]
    if (isNumber && isOtherNumber) return Number(one) - Number(other)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return one < other ? -1 : 1
  }
  return 0
}
