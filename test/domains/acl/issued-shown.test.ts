/** What a token is shown as when it is looked up, kept from one look-up to the next. */
import t from 'tap'
import { lookupText, shownAuth } from '../../../src/domains/acl/issued-shown.ts'
import { lifetimeAtRenewal, systemLifetimes } from '../../../src/domains/acl/lifetime-model.ts'
import type { TokenRow } from '../../../src/domains/acl/model.ts'
import { drawToken } from '../../../src/domains/acl/issue.ts'
import { specWith } from './token-rows.ts'

const endMs = 1_000_000
const { token } = drawToken(specWith({ expirationTimeMs: endMs }), null)
const row: TokenRow = { ...token, createIndex: 1, modifyIndex: 1 }

function shown(of: TokenRow, id: string, nowMs: number) {
  return JSON.parse(lookupText(of, id, nowMs).text) as {
    readonly id: string
    readonly ttl: number
    readonly policies: readonly string[]
    readonly display_name: string
  }
}

t.test('a token that is looked up again is shown as it is then', async (t) => {
  t.equal(lookupText(row, 'secret', endMs - 10_000), lookupText(row, 'secret', endMs - 10_500))
  t.equal(shown(row, 'secret', endMs - 10_000).ttl, 10)
  t.equal(shown(row, 'secret', endMs - 8_000).ttl, 8)
  const renewed = { ...row, expirationTimeMs: endMs + 60_000 }
  t.equal(shown(renewed, 'secret', endMs - 8_000).ttl, 68)
  const changed = { ...row, name: 'changed', policies: ['other'] }
  t.match(shown(changed, 'secret', endMs - 8_000), { display_name: 'changed', policies: ['other'] })
})

t.test('an answer and its warning tell the same time, no more than is left', async (t) => {
  const present = { ttlMs: 100_000, maxTtlMs: 100_000, periodMs: 0 }
  const asked = { createTimeMs: 0, incrementMs: 0, present, explicitMaxTtlMs: null }
  const rows = [
    { nowMs: 1_500, seconds: 98 },
    { nowMs: 2_000, seconds: 98 },
    { nowMs: 99_700, seconds: 1 },
  ]
  for (const { nowMs, seconds } of rows) {
    const { ttlMs, warnings } = lifetimeAtRenewal({ ...asked, nowMs, mount: systemLifetimes })
    const renewed = { ...row, expirationTimeMs: nowMs + ttlMs }
    t.equal(shownAuth(renewed, '', nowMs).lease_duration, seconds)
    t.equal(shown(renewed, '', nowMs).ttl, seconds)
    t.match(warnings, [new RegExp(`is cut to ${seconds}s`)])
  }
})

t.test('the secret is shown only to a caller who sent it', async (t) => {
  t.equal(shown(row, 'secret', endMs - 1_000).id, 'secret')
  t.equal(shown(row, '', endMs - 1_000).id, '')
  t.equal(shown(row, 'secret', endMs - 1_000).id, 'secret')
})
