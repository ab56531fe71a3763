/** Makes stack traces of the bundle name source files, by its source map, which is read when the first one is asked for. */
import { sourcesOf, type Position, type SourceMapText, type SourcePosition } from './source-map.ts'

/** Places of a program that fail are few; beyond so many the oldest are looked up again. */
export const PLACES_MAX = 4_096

/** What is needed of V8's call sites. */
export type Frame = Pick<NodeJS.CallSite, 'getFileName' | 'getLineNumber' | 'getColumnNumber'> & {
  toString(): string
}

/** `file`: what the bundle is called in a trace. `readMap` gives the map as JSON. */
export function nameSources(file: string, readMap: () => string): void {
  Error.prepareStackTrace = tracer(file, readMap)
}

/** Writes an error's stack trace as V8 does, but for the frames of the bundle. */
export function tracer(
  file: string,
  readMap: () => string,
): (error: Error, frames: readonly Frame[]) => string {
  const places = new Map<string, SourcePosition | null>()
  let map: SourceMapText | null = null
  const look = (positions: ReadonlyMap<string, Position>): void => {
    map ??= parse(readMap())
    const found = sourcesOf(map, [...positions.values()])
    for (const [index, place] of [...positions.keys()].entries()) {
      places.set(place, found[index] ?? null)
    }
  }
  return (error, frames) => {
    const lines = frames.map((frame) => {
      const line = frame.getLineNumber()
      const column = frame.getColumnNumber()
      const inBundle = frame.getFileName() === file && line !== null && column !== null
      return { text: frame.toString(), position: inBundle ? { line, column } : null }
    })
    const unknown = new Map<string, Position>()
    for (const { position } of lines) {
      if (position !== null && !places.has(placeOf(position))) {
        unknown.set(placeOf(position), position)
      }
    }
    try {
      if (unknown.size > 0) look(unknown)
    } catch {
      // A trace without the names of sources is better than none.
    }
    const shown = lines.map(({ text, position }) => {
      const place = position === null ? '' : placeOf(position)
      const source = places.get(place) ?? null
      if (source === null) return `\n    at ${text}`
      const { source: path, line, column } = source
      return `\n    at ${text.replace(`${file}:${place}`, `${path}:${line}:${column}`)}`
    })
    for (const place of places.keys()) {
      if (places.size <= PLACES_MAX) break
      places.delete(place)
    }
    return `${titleOf(error)}${shown.join('')}`
  }
}

function placeOf({ line, column }: Position): string {
  return `${line}:${column}`
}

function titleOf(error: Error): string {
  try {
    return Error.prototype.toString.call(error)
  } catch {
    return 'Error'
  }
}

function parse(text: string): SourceMapText {
  const map: unknown = JSON.parse(text)
  if (typeof map !== 'object' || map === null) throw new TypeError('no source map')
  if (!('sources' in map) || !Array.isArray(map.sources)) throw new TypeError('no sources')
  if (!('mappings' in map) || typeof map.mappings !== 'string') throw new TypeError('no mappings')
  return { sources: map.sources.map(String), mappings: map.mappings }
}
