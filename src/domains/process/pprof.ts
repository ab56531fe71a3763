/**
 * V8's profiles in pprof's format: a table of texts, functions and locations, and samples that are stacks of locations
 * with values. Gzipped, as its viewers expect.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  Function as PprofFunction,
  Line,
  Location,
  Mapping,
  Profile,
  Sample,
  StringTable,
  ValueType,
} from 'pprof-format'

export type Frame = {
  readonly functionName: string
  /** A file's path or URL; '' for what is no code of a file. */
  readonly url: string
  /** Where the function begins, from 0; -1: unknown. */
  readonly lineNumber: number
}

/** Innermost first. */
export type Stack = { readonly frames: readonly Frame[]; readonly values: readonly number[] }

export type StackProfile = {
  /** One per value of each stack, for example `cpu` in `nanoseconds`. */
  readonly valueTypes: readonly { readonly type: string; readonly unit: string }[]
  readonly stacks: readonly Stack[]
  /** What a sample stands for, and every how much of it one was taken. */
  readonly period: { readonly type: string; readonly unit: string; readonly value: number }
  readonly startMs: number
  readonly durationMs: number
}

const gzipAsync = promisify(gzip)
const nsPerMs = 1_000_000n

export async function encodePprof(profile: StackProfile): Promise<Uint8Array> {
  const texts = new StringTable()
  const functions: PprofFunction[] = []
  const locations = new Map<string, Location>()
  const valueType = ({ type, unit }: { readonly type: string; readonly unit: string }) =>
    new ValueType({ type: texts.dedup(type), unit: texts.dedup(unit) })

  // V8 names where a function begins, not where in it the call is: so a function and its location are one.
  const locationId = (frame: Frame): number => {
    const key = `${frame.functionName} ${frame.url} ${frame.lineNumber}`
    const known = locations.get(key)
    if (known !== undefined) return Number(known.id)
    const id = locations.size + 1
    const line = Math.max(0, frame.lineNumber + 1)
    const name = texts.dedup(nameOf(frame))
    const filename = texts.dedup(fileOf(frame))
    functions.push(new PprofFunction({ id, name, systemName: name, filename, startLine: line }))
    locations.set(
      key,
      new Location({ id, mappingId: 1, line: [new Line({ functionId: id, line })] }),
    )
    return id
  }

  const encoded = new Profile({
    sampleType: profile.valueTypes.map(valueType),
    sample: profile.stacks.map(
      ({ frames, values }) =>
        new Sample({ locationId: frames.map(locationId), value: values.map(Math.round) }),
    ),
    // The program as a whole, with all names known: viewers look for its binary otherwise.
    mapping: [
      new Mapping({
        id: 1,
        filename: texts.dedup(process.execPath),
        hasFunctions: true,
        hasFilenames: true,
        hasLineNumbers: true,
      }),
    ],
    location: [...locations.values()],
    function: functions,
    stringTable: texts,
    timeNanos: BigInt(Math.round(profile.startMs)) * nsPerMs,
    durationNanos: BigInt(Math.round(profile.durationMs)) * nsPerMs,
    periodType: valueType(profile.period),
    period: Math.round(profile.period.value),
  })
  return gzipAsync(encoded.encode())
}

const textRowsMax = 100

/** The functions by their own share of the last value, for people. */
export function pprofText(profile: StackProfile): string {
  const last = profile.valueTypes.length - 1
  const unit = profile.valueTypes[last]?.unit ?? ''
  const own = new Map<string, number>()
  const withCalled = new Map<string, number>()
  let total = 0
  for (const { frames, values } of profile.stacks) {
    const value = values[last] ?? 0
    total += value
    const names = frames.map((frame) => `${nameOf(frame)} ${fileOf(frame)}`.trimEnd())
    add(own, names[0] ?? '(root)', value)
    // A function that calls itself is counted once.
    for (const name of new Set(names)) add(withCalled, name, value)
  }
  const rows = [...withCalled].sort(
    ([left, leftAll], [right, rightAll]) =>
      (own.get(right) ?? 0) - (own.get(left) ?? 0) || rightAll - leftAll || (left < right ? -1 : 1),
  )
  const share = (value: number) => `${total === 0 ? '0.0' : ((100 * value) / total).toFixed(1)}%`
  const lines = rows.slice(0, textRowsMax).map(([name, all]) => {
    const self = own.get(name) ?? 0
    return `${String(self).padStart(14)} ${share(self).padStart(6)} ${String(all).padStart(14)} ${share(all).padStart(6)}  ${name}`
  })
  const types = profile.valueTypes.map(({ type, unit }) => `${type} in ${unit}`).join(', ')
  return [
    `${types}; ${profile.stacks.length} stacks, ${total} ${unit} in ${Math.round(profile.durationMs)} ms`,
    `${'self'.padStart(14)} ${'%'.padStart(6)} ${'with called'.padStart(14)} ${'%'.padStart(6)}  function`,
    ...lines,
    '',
  ].join('\n')
}

function add(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value)
}

function nameOf({ functionName, lineNumber }: Frame): string {
  if (functionName !== '') return functionName
  return lineNumber < 0 ? '(anonymous)' : `(anonymous:${lineNumber + 1})`
}

function fileOf({ url }: Frame): string {
  return url.startsWith('file://') ? decodeURIComponent(url.slice('file://'.length)) : url
}
