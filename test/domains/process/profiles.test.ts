/** Profiles of this very process, read back by the format's own decoder. */
import { Session } from 'node:inspector/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { Profile } from 'pprof-format'
import t from 'tap'
import { profilesAreOpen } from '../../../src/domains/process/debug-rule.ts'
import { HeapSampler } from '../../../src/domains/process/heap-sampler.ts'
import { encodePprof, pprofText, type StackProfile } from '../../../src/domains/process/pprof.ts'
import { Profiles } from '../../../src/domains/process/profiles.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/** Of the work that a profile shows. */
const sliceMs = 20
const never = new AbortController().signal
const heap = new HeapSampler(systemClock)
t.teardown(() => heap.stop())
const profiles = new Profiles(systemClock, heap)

const frame = (functionName: string, lineNumber: number) => ({
  functionName,
  url: 'file:///srv/a%20b.ts',
  lineNumber,
})
const made: StackProfile = {
  valueTypes: [
    { type: 'samples', unit: 'count' },
    { type: 'cpu', unit: 'nanoseconds' },
  ],
  stacks: [
    { frames: [frame('inner', 4), frame('outer', 9)], values: [3, 3_000] },
    { frames: [frame('outer', 9)], values: [1, 1_000] },
    { frames: [frame('', 20), frame('', 30)], values: [1, 500] },
  ],
  period: { type: 'cpu', unit: 'nanoseconds', value: 1_000 },
  startMs: Date.parse('2026-01-31T12:00:00Z'),
  durationMs: 2_000,
}

/** Names of each sample's functions, innermost first, and its values. */
function samplesOf(bytes: Uint8Array) {
  const profile = Profile.decode(gunzipSync(bytes))
  const text = (at: unknown) => profile.stringTable.strings[Number(at)] ?? '?'
  const nameOf = (id: unknown) => {
    const location = profile.location.find((known) => Number(known.id) === Number(id))
    const wanted = Number(location?.line[0]?.functionId)
    return text(profile.function.find((known) => Number(known.id) === wanted)?.name)
  }
  return {
    profile,
    text,
    types: profile.sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`),
    samples: profile.sample.map(({ locationId, value }) => ({
      names: locationId.map(nameOf),
      values: value.map(Number),
    })),
  }
}

t.test('stacks keep their order, values and places', async (t) => {
  const { profile, text, types, samples } = samplesOf(await encodePprof(made))
  t.same(types, ['samples/count', 'cpu/nanoseconds'])
  t.same(samples, [
    { names: ['inner', 'outer'], values: [3, 3_000] },
    { names: ['outer'], values: [1, 1_000] },
    { names: ['(anonymous:21)', '(anonymous:31)'], values: [1, 500] },
  ])
  t.equal(profile.function.length, 4, 'each function once')
  t.equal(text(profile.mapping[0]?.filename), process.execPath)
  t.equal(text(profile.function[0]?.filename), '/srv/a b.ts')
  t.equal(Number(profile.location[0]?.line[0]?.line), 5)
  t.equal(BigInt(profile.timeNanos), 1_769_860_800_000_000_000n)
  t.equal(Number(profile.durationNanos), 2e9)
  t.equal(text(profile.periodType?.type), 'cpu')
})

t.test('as text, functions stand by their own share', (t) => {
  const lines = pprofText(made).split('\n')
  t.equal(lines[0], 'samples in count, cpu in nanoseconds; 3 stacks, 4500 nanoseconds in 2000 ms')
  t.match(lines[2], /^ +3000 +66\.7% +3000 +66\.7% {2}inner \/srv\/a b\.ts$/)
  t.match(lines[3], /^ +1000 +22\.2% +4000 +88\.9% {2}outer/)
  t.match(pprofText({ ...made, stacks: [] }), /0 stacks, 0 nanoseconds/)
  t.end()
})

function spinHere(untilMs: number): number {
  let sum = 0
  while (performance.now() < untilMs) sum += Math.sqrt(sum + 1)
  return sum
}

t.test('a CPU profile shows who ran', async (t) => {
  const taking = profiles.take({ name: 'profile', seconds: 1, asText: false }, never)
  const again = profiles.take({ name: 'profile', seconds: 1, asText: false }, never)
  await t.rejects(again, { code: 'conflict', message: /profile is being taken here already/ })
  await whileTaking(taking, () => spinHere(performance.now() + sliceMs))
  const { type, bytes } = await taking
  t.equal(type, 'application/octet-stream')
  const { types, samples } = samplesOf(bytes)
  t.same(types, ['samples/count', 'cpu/nanoseconds'])
  const spun = samples.filter(({ names }) => names.includes('spinHere'))
  const nanoseconds = spun.reduce((sum, { values }) => sum + (values[1] ?? 0), 0)
  t.ok(nanoseconds > 100e6, `${nanoseconds} ns`)
})

t.test('heap shows at once who holds what since the sampling began', async (t) => {
  await heap.start()
  const kept = hoardHere()
  wasteHere()
  const { types, samples, profile } = samplesOf((await take('heap', null)).bytes)
  t.same(types, ['samples/count', 'inuse_space/bytes'])
  const held = samples.filter(({ names }) => names.includes('hoardHere'))
  const bytes = held.reduce((sum, { values }) => sum + (values[1] ?? 0), 0)
  t.ok(bytes > 2_000_000, `${bytes} bytes`)
  t.ok(BigInt(profile.durationNanos) > 0n)
  t.equal(kept.length, 100)
})

t.test('heap with seconds shows what was allocated in them and is held', async (t) => {
  const before = hoardHere()
  const taking = take('heap', 1)
  const rival = take('allocs', 1)
  await t.rejects(rival, { code: 'conflict', message: /heap is being taken here already/ })
  const kept: number[][] = []
  await whileTaking(taking, () => kept.push(keepHere()))
  const names = samplesOf((await taking).bytes).samples.flatMap((sample) => sample.names)
  t.ok(names.includes('keepHere'))
  t.notOk(names.includes('hoardHere'), 'it was held before')
  t.ok(kept.length + before.length > 100)
})

t.test('allocs shows all that is allocated, and the sampling begins anew after it', async (t) => {
  const kept = hoardHere()
  const taking = take('allocs', 1)
  await whileTaking(taking, wasteHere)
  const { types, samples } = samplesOf((await taking).bytes)
  t.same(types, ['samples/count', 'alloc_space/bytes'])
  t.ok(samples.some(({ names }) => names.includes('wasteHere')))
  const names = samplesOf((await take('heap', null)).bytes).samples.flatMap(({ names }) => names)
  t.notOk(names.includes('hoardHere'))
  t.equal(kept.length, 100)
})

t.test('a heap that something else stopped to sample is said, and sampled again', async (t) => {
  await heap.start()
  const other = new Session()
  other.connect()
  await other.post('HeapProfiler.enable')
  await other.post('HeapProfiler.stopSampling')
  other.disconnect()
  await t.rejects(take('heap', null), { code: 'unavailable', message: /not sampled any more/ })
  t.equal((await take('heap', null)).type, 'application/octet-stream')
})

function take(name: string, seconds: number | null) {
  return profiles.take({ name, seconds, asText: false }, never)
}

/** Works in slices until the profile is there: whenever the profiler begins, it sees some of them. */
async function whileTaking(taking: Promise<unknown>, work: () => unknown): Promise<void> {
  const over = taking.then(
    () => false,
    () => false,
  )
  do work()
  while (await Promise.race([over, delay(sliceMs, true)]))
}

function keepHere(): number[] {
  return Array.from({ length: 100_000 }, (_, n) => n)
}

function wasteHere(): void {
  for (let n = 0; n < 20; n += 1) Array.from({ length: 20_000 }, () => n)
}

function hoardHere(): number[][] {
  return Array.from({ length: 100 }, (_, n) => Array.from({ length: 20_000 }, () => n))
}

t.test('the rest: a trace, what is waited for, threads, the command line', async (t) => {
  const ask = async (name: string, asText = false) => {
    const { type, bytes } = await profiles.take({ name, seconds: 1, asText }, never)
    return { type, text: Buffer.from(bytes).toString(), bytes }
  }
  const trace = await ask('trace')
  t.equal(trace.type, 'application/octet-stream')
  const { traceEvents } = JSON.parse(trace.text) as { traceEvents: { name: string; ts: number }[] }
  t.ok(traceEvents.length > 0)
  t.same(samplesOf((await ask('goroutine')).bytes).types, ['goroutine/count'])
  t.match((await ask('threadcreate', true)).text, /libuv-worker|node|V8Worker/)
  t.match(await ask('heap', true), { type: 'text/plain; charset=utf-8', text: / rss\n/ })
  t.same((await ask('cmdline')).text.split('\0'), process.argv)
  await t.rejects(ask('mutex'), { code: 'not_implemented', message: /takes no locks/ })
  await t.rejects(ask('nope'), { code: 'not_found', message: /there is no profile "nope"/ })
  await t.rejects(ask('toString'), { code: 'not_found' })
})

t.test('a caller that goes away ends its profile', async (t) => {
  const abort = new AbortController()
  const taking = profiles.take({ name: 'profile', seconds: 300, asText: false }, abort.signal)
  const cancelled = t.rejects(taking, { code: 'cancelled' })
  abort.abort()
  await cancelled
  const next = await profiles.take({ name: 'profile', seconds: 1, asText: true }, never)
  t.match(Buffer.from(next.bytes).toString(), /samples in count/)
})

t.test('when profiles may be taken: the table of enable_debug', (t) => {
  const cases: readonly (readonly [boolean | null, boolean, boolean])[] = [
    [null, false, false],
    [null, true, true],
    [true, false, true],
    [true, true, true],
    [false, false, false],
    [false, true, true],
  ]
  for (const [enableDebug, accessControl, open] of cases) {
    const setting = { enableDebug, accessControl }
    t.equal(profilesAreOpen(setting), open, JSON.stringify(setting))
  }
  t.end()
})
