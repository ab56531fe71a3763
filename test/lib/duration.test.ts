import t from 'tap'
import {
  formatDurationMs,
  formatDurationNs,
  parseDurationMs,
  parseDurationNs,
} from '../../src/lib/duration.ts'

t.test('durations in the Go style are read to the nanosecond', async (t) => {
  const cases: readonly (readonly [string, bigint | undefined])[] = [
    ['0', 0n],
    ['0s', 0n],
    ['+0', 0n],
    ['10s', 10_000_000_000n],
    ['1m30s', 90_000_000_000n],
    ['1h2m3s4ms5us6ns', 3_723_004_005_006n],
    ['1.5h', 5_400_000_000_000n],
    ['.5s', 500_000_000n],
    ['1.s', 1_000_000_000n],
    ['100us', 100_000n],
    ['100µs', 100_000n],
    ['100μs', 100_000n],
    ['-1.5s', -1_500_000_000n],
    ['0.0000000001s', 0n],
    ['9223372036854775807ns', 9_223_372_036_854_775_807n],
    ['9223372036854775808ns', undefined],
    ['3000000h', undefined],
    ['', undefined],
    ['-', undefined],
    ['10', undefined],
    ['1.5', undefined],
    ['s', undefined],
    ['.s', undefined],
    ['10 s', undefined],
    [' 10s', undefined],
    ['1e3s', undefined],
    ['1d', undefined],
    ['1S', undefined],
    ['--1s', undefined],
    ['1s-1s', undefined],
    ['１s', undefined],
    ['__proto__', undefined],
    [`${'0'.repeat(200)}s`, undefined],
  ]
  for (const [text, expected] of cases) t.equal(parseDurationNs(text), expected, text)
  t.equal(parseDurationMs('1m0.5ms'), 60_000.5)
  t.equal(parseDurationMs('soon'), undefined)
})

t.test('durations are written as Go writes them, and read back the same', async (t) => {
  const cases: readonly (readonly [bigint, string])[] = [
    [0n, '0s'],
    [1n, '1ns'],
    [1_500n, '1.5µs'],
    [250_000_000n, '250ms'],
    [1_500_000_000n, '1.5s'],
    [60_000_000_000n, '1m0s'],
    [5_400_000_000_000n, '1h30m0s'],
    [-90_000_000_000n, '-1m30s'],
    [3_600_000_000_001n, '1h0m0.000000001s'],
  ]
  for (const [nanoseconds, text] of cases) {
    t.equal(formatDurationNs(nanoseconds), text)
    t.equal(parseDurationNs(text), nanoseconds, text)
  }
  t.equal(formatDurationMs(1_500), '1.5s')
})
