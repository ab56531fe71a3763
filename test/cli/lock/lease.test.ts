import t, { type Test } from 'tap'
import {
  leaseOf,
  renewed,
  ttlMsDefault,
  ttlMsMax,
  ttlMsMin,
  type Lease,
} from '../../../src/cli/lock/lease.ts'

/** What must hold of every lease, whatever it was made of. */
function assertSafe(t: Test, lease: Lease, ttlMs: number): void {
  const { termAfterMs, killAfterMs, graceMs, lockDelayMs } = lease
  t.ok(killAfterMs < ttlMs, 'dead before the session can end')
  t.ok(killAfterMs < lockDelayMs, 'dead before the lock delay of an earlier end is over')
  t.ok(termAfterMs > 0 && Math.abs(killAfterMs - termAfterMs - graceMs) < 1e-6, 'grace fits')
}

void t.test('no TTL and lock delay that are taken leave a moment for two holders', async (t) => {
  for (let ttlMs = ttlMsMin; ttlMs <= ttlMsMax; ttlMs += 617) {
    for (const lockDelayMs of [ttlMs, (ttlMs + ttlMsMax) / 2, ttlMsMax]) {
      const lease = leaseOf(ttlMs, lockDelayMs)
      assertSafe(t, lease, ttlMs)
      const { renewAfterMs, attemptMsMax, termAfterMs } = lease
      t.ok(renewAfterMs + 3 * attemptMsMax <= termAfterMs, 'the third attempt comes in time')
      for (const stretch of [1, 1.5, 2, 4, 8]) {
        const longer = renewed(lease, ttlMs * stretch)
        assertSafe(t, longer, ttlMs * stretch)
        t.ok(longer.renewAfterMs + 2 * longer.attemptMsMax <= longer.termAfterMs)
        t.ok(longer.renewAfterMs >= renewAfterMs, 'renewed no more often than before')
      }
    }
  }
})

void t.test('times that are not safe are refused', async (t) => {
  const cases: readonly (readonly [ttlMs: number, lockDelayMs: number, reason: RegExp])[] = [
    [9_999, 15_000, /TTL must be from 10s to 1m0s, not 9\.999s/],
    [60_001, 60_000, /TTL must be from 10s to 1m0s/],
    [0, 15_000, /TTL must be/],
    [15_000, 14_999, /lock delay must be from the session's TTL, 15s, to 1m0s, not 14\.999s/],
    [15_000, 60_001, /lock delay must be/],
    [15_000, 0, /lock delay must be/],
  ]
  for (const [ttlMs, lockDelayMs, message] of cases) {
    t.throws(() => leaseOf(ttlMs, lockDelayMs), {
      code: 'invalid_argument',
      message,
    })
  }
})

void t.test('by default there are seconds for an election between two renewals', async (t) => {
  const { termAfterMs, renewAfterMs, killAfterMs } = leaseOf(ttlMsDefault, ttlMsDefault)
  t.equal(killAfterMs, 14_350)
  t.equal(termAfterMs, 9_350)
  t.ok(termAfterMs - renewAfterMs > 7_000)
})
