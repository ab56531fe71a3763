/** Settings of a directory for tests: those of a configuration that nobody wrote, but for what a test says. */
import type { DirectorySettings } from '../../../src/domains/ldap/directory.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { DirectoryError } from '../../../src/domains/ldap/directory-error.ts'
import type { Budget } from '../../../src/domains/ldap/budget.ts'

export function settingsWith(changes: Partial<DirectorySettings>): DirectorySettings {
  return {
    url: 'ldap://127.0.0.1',
    caseSensitiveNames: false,
    connectionTimeoutMs: 30_000,
    requestTimeoutMs: 90_000,
    starttls: false,
    tlsMinVersion: 'tls12',
    tlsMaxVersion: 'tls12',
    insecureTls: false,
    certificate: '',
    clientTlsCert: '',
    clientTlsKey: '',
    binddn: '',
    bindpasses: [],
    userdn: 'ou=people,dc=test',
    userattr: 'uid',
    discoverdn: false,
    denyNullBind: true,
    upndomain: '',
    userfilter: '',
    anonymousGroupSearch: false,
    groupfilter: '',
    groupdn: 'ou=groups,dc=test',
    groupattr: '',
    usernameAsAlias: false,
    dereferenceAliases: 'never',
    maxPageSize: 0,
    useTokenGroups: false,
    enableSamaccountnameLogin: false,
    ...changes,
  }
}

export function budgetOf(ms: number, signal = new AbortController().signal): Budget {
  return { clock: systemClock, deadlineMs: systemClock.monotonicMs() + ms, signal }
}

/** What a login fails with; null: it does not. */
export async function failureOf(outcome: Promise<unknown>): Promise<DirectoryError | null> {
  try {
    await outcome
    return null
  } catch (error) {
    if (error instanceof DirectoryError) return error
    throw error
  }
}
