/** Lifetimes of issued tokens: a table of cases, and what holds whatever the settings are. */
import t from 'tap'
import fc from '../../support/fast-check.ts'
import {
  lifetimeAtLogin,
  lifetimeAtRenewal,
  systemLifetimes,
  systemTtlMs,
} from '../../../src/domains/acl/lifetime-model.ts'
import { seed } from '../../support/randomness.ts'

const hour = 3_600_000
const none = { ttlMs: 0, maxTtlMs: 0, explicitMaxTtlMs: 0, periodMs: 0 }

void t.test('a login gives the wanted time, cut to the smallest maximum', async (t) => {
  const at = (more: object, mount = systemLifetimes) => lifetimeAtLogin({ ...none, ...more }, mount)
  t.match(at({}), { ttlMs: systemTtlMs, periodMs: null, explicitMaxTtlMs: null, warnings: [] })
  t.equal(at({}, { defaultTtlMs: hour, maxTtlMs: 0 }).ttlMs, hour)
  t.equal(at({ ttlMs: hour }, { defaultTtlMs: 2 * hour, maxTtlMs: 0 }).ttlMs, hour)
  for (const more of [
    { ttlMs: 3 * hour, maxTtlMs: 2 * hour },
    { maxTtlMs: 2 * hour },
    { ttlMs: 3 * hour, explicitMaxTtlMs: 2 * hour },
    { maxTtlMs: 5 * hour, explicitMaxTtlMs: 2 * hour },
    { periodMs: 3 * hour, explicitMaxTtlMs: 2 * hour },
  ]) {
    const given = at(more)
    t.equal(given.ttlMs, 2 * hour, JSON.stringify(more))
    t.equal(given.warnings.length, 1, JSON.stringify(more))
  }
  t.match(at({ periodMs: hour, ttlMs: 9 * hour }), { ttlMs: hour, periodMs: hour, warnings: [] })
  t.equal(at({ ttlMs: 9 * hour }, { defaultTtlMs: 0, maxTtlMs: hour }).ttlMs, hour)
})

void t.test('a renewal goes by the present settings and the maximum since the login', async (t) => {
  const at = (ageMs: number, present: object, more: object = {}) =>
    lifetimeAtRenewal({
      createTimeMs: 1_000,
      nowMs: 1_000 + ageMs,
      incrementMs: 0,
      present: { ...none, ...present },
      explicitMaxTtlMs: null,
      mount: systemLifetimes,
      ...more,
    })
  t.equal(at(hour, { ttlMs: hour }).ttlMs, hour)
  t.equal(at(hour, { ttlMs: hour }, { incrementMs: 2 * hour }).ttlMs, 2 * hour)
  t.match(at(hour, { ttlMs: 2 * hour, maxTtlMs: 2 * hour }), { ttlMs: hour })
  t.match(at(hour, { ttlMs: 2 * hour }, { explicitMaxTtlMs: 2 * hour }), { ttlMs: hour })
  t.throws(() => at(hour, { ttlMs: 1, maxTtlMs: hour }), { code: 'invalid_argument' })
  t.throws(() => at(hour, { periodMs: 1 }, { explicitMaxTtlMs: hour }), {
    code: 'invalid_argument',
  })
  // Years after the login: a period has no other maximum than the explicit one.
  const periodic = at(99_999 * hour, { periodMs: hour }, { incrementMs: 5 * hour })
  t.match(periodic, { ttlMs: hour, periodMs: hour, warnings: [] })
})

void t.test(`no lifetime goes beyond a maximum, FUZZ_SEED=${seed}`, async (t) => {
  const ms = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 * systemTtlMs }))
  const settings = fc.record({ ttlMs: ms, maxTtlMs: ms, explicitMaxTtlMs: ms, periodMs: ms })
  const mounts = fc.record({ defaultTtlMs: ms, maxTtlMs: ms })
  const property = fc.property(
    settings,
    settings,
    mounts,
    ms,
    ms,
    (first, later, mount, age, more) => {
      const made = lifetimeAtLogin(first, mount)
      const mountMax = mount.maxTtlMs || systemTtlMs
      const max = Math.min(mountMax, first.maxTtlMs || Infinity, first.explicitMaxTtlMs || Infinity)
      if (made.ttlMs < 1 || made.ttlMs > max) return false
      const renewal = {
        createTimeMs: 5,
        nowMs: 5 + age,
        incrementMs: more,
        present: later,
        explicitMaxTtlMs: made.explicitMaxTtlMs,
        mount,
      }
      const explicit = made.explicitMaxTtlMs ?? Infinity
      const longest = Math.min(mountMax, later.maxTtlMs || Infinity)
      let renewed
      try {
        renewed = lifetimeAtRenewal(renewal)
      } catch {
        return later.periodMs > 0 ? age >= explicit : age >= Math.min(longest, explicit)
      }
      if (renewed.ttlMs < 1 || age + renewed.ttlMs > explicit) return false
      if (later.periodMs > 0) return renewed.ttlMs <= Math.min(later.periodMs, longest)
      return age + renewed.ttlMs <= longest
    },
  )
  fc.assert(property, { seed, numRuns: 2_000 })
  t.pass('held')
})
