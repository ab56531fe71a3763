/** What a configuration must be before it is stored, and what it is warned of. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { MusterError } from '../../lib/errors.ts'
import { checkTokenParameters } from '../acl/token-parameters-model.ts'
import { parseFilter } from './filter.ts'
import type { DirectoryConfig } from './model.ts'
import { scheduleOf } from './schedule.ts'
import { tlsVersions } from './tls-model.ts'
import { fillTemplate, parseTemplate, usesVariable, type Variable } from './template.ts'

export const rotationPeriodMsMin = 10_000
export const rotationWindowMsMin = 3_600_000

/** `clientKey`: empty for none. Throws `invalid_argument`; the text never has a secret in it. */
export function checkConfig(config: DirectoryConfig, clientKey: string): void {
  const { tlsMinVersion, tlsMaxVersion } = config
  if (tlsVersions.indexOf(tlsMaxVersion) < tlsVersions.indexOf(tlsMinVersion)) {
    throw refused("'tls_max_version' must be greater than or equal to 'tls_min_version'")
  }
  if (config.certificate !== '') checkCertificates('certificate', config.certificate)
  checkClientCertificate(config.clientTlsCert, clientKey)
  parseTemplate(config.userfilter, userVariables, 'userfilter')
  parseTemplate(config.groupfilter, groupVariables, 'groupfilter')
  checkTokenParameters(config.tokens)
  checkRotation(config)
}

const userVariables: readonly Variable[] = ['UserAttr', 'Username']
const groupVariables: readonly Variable[] = ['UserDN', 'Username']

/** Also told at each read. */
export function configWarnings(config: DirectoryConfig): readonly string[] {
  const { userfilter, groupfilter, userattr } = config
  const warnings: string[] = []
  const users = parseTemplate(userfilter, userVariables, 'userfilter')
  const hasAttribute =
    usesVariable(users, 'UserAttr') || userfilter.toLowerCase().includes(userattr.toLowerCase())
  if (userfilter !== '' && !hasAttribute) {
    warnings.push(
      `userfilter contains neither {{.UserAttr}} nor the userattr ${userattr}: a search may find more than the user who logs in, and one user may get several aliases`,
    )
  }
  const groups = parseTemplate(groupfilter, groupVariables, 'groupfilter')
  for (const [field, template] of [
    ['userfilter', users],
    ['groupfilter', groups],
  ] as const) {
    const text = fillTemplate(template, { UserAttr: 'cn', Username: 'name', UserDN: 'cn=name' })
    if (text !== '' && !isFilter(text)) {
      warnings.push(`${field} is no LDAP filter once it is filled in: every login will fail`)
    }
  }
  return warnings
}

function isFilter(text: string): boolean {
  try {
    parseFilter(text)
    return true
  } catch {
    return false
  }
}

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g

/** One certificate or more, and nothing else in PEM. */
function checkCertificates(field: string, text: string): void {
  const blocks = [...text.matchAll(pemBlock)]
  const right = blocks.every(([block, kind]) => kind === 'CERTIFICATE' && parses(block))
  if (blocks.length === 0 || !right) {
    throw refused(`${field} must be X.509 certificates in PEM (BEGIN CERTIFICATE)`)
  }
}

function parses(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0
  } catch {
    return false
  }
}

function checkClientCertificate(certificate: string, key: string): void {
  if (certificate === '' && key === '') return
  if (certificate === '' || key === '') {
    throw refused('client_tls_cert and client_tls_key must be given together')
  }
  checkCertificates('client_tls_cert', certificate)
  if (!keyFits(certificate, key)) {
    throw refused('client_tls_key must be the private key of client_tls_cert in PEM')
  }
}

function keyFits(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

function checkRotation(config: DirectoryConfig): void {
  const { rotationPeriodMs, rotationSchedule, rotationWindowMs } = config
  if (rotationPeriodMs > 0 && rotationSchedule !== '') {
    throw refused('rotation_period and rotation_schedule exclude each other')
  }
  if (rotationPeriodMs > 0 && rotationWindowMs > 0) {
    throw refused('rotation_window cannot be used with rotation_period')
  }
  if (rotationPeriodMs > 0 && rotationPeriodMs < rotationPeriodMsMin) {
    throw refused(`rotation_period must be at least ${rotationPeriodMsMin / 1_000} seconds`)
  }
  if (rotationWindowMs > 0 && rotationWindowMs < rotationWindowMsMin) {
    throw refused(`rotation_window must be at least ${rotationWindowMsMin / 3_600_000} hour`)
  }
  if (rotationSchedule !== '' && scheduleOf(rotationSchedule) === null) {
    throw refused(
      'rotation_schedule must be a cron expression of five fields: minute, hour, day of month, month, day of week',
    )
  }
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
