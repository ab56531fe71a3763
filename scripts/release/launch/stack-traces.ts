/** Makes stack traces of the bundle name source files, by its source map, which is read when the first one is shown. */
import { sourcesOf, type Position, type SourceMapText, type SourcePosition } from './source-map.ts'

/** Places of a program that fail are few; beyond so many the oldest are looked up again. */
export const PLACES_MAX = 4_096

/**
 * Returns what rewrites the frames of the bundle in a trace. It is for traces that are shown, and not V8's hook for all that
 * are taken: gRPC takes one of every call that fails, and the map stops a process for a fifth of a second.
 *
 * `file`: what the bundle is called in a trace. `readMap` gives the map as JSON.
 */
export function sourceNamer(file: string, readMap: () => string): (trace: string) => string {
  const literally = file.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')
  const ofBundle = new RegExp(`${literally}:(\\d+):(\\d+)`, 'g')
  const places = new Map<string, SourcePosition | null>()
  let map: SourceMapText | null = null
  const look = (positions: ReadonlyMap<string, Position>): void => {
    map ??= parse(readMap())
    const found = sourcesOf(map, [...positions.values()])
    for (const [index, place] of [...positions.keys()].entries()) {
      places.set(place, found[index] ?? null)
    }
  }
  return (trace) => {
    const unknown = new Map<string, Position>()
    for (const [place, line, column] of trace.matchAll(ofBundle)) {
      if (!places.has(place)) unknown.set(place, { line: Number(line), column: Number(column) })
    }
    try {
      if (unknown.size > 0) look(unknown)
    } catch {
      // A trace without the names of sources is better than none.
    }
    const named = trace.replace(ofBundle, (place) => {
      const found = places.get(place) ?? null
      return found === null ? place : `${found.source}:${found.line}:${found.column}`
    })
    for (const place of places.keys()) {
      if (places.size <= PLACES_MAX) break
      places.delete(place)
    }
    return named
  }
}

function parse(text: string): SourceMapText {
  const map: unknown = JSON.parse(text)
  if (typeof map !== 'object' || map === null) throw new TypeError('no source map')
  if (!('sources' in map) || !Array.isArray(map.sources)) throw new TypeError('no sources')
  if (!('mappings' in map) || typeof map.mappings !== 'string') throw new TypeError('no mappings')
  return { sources: map.sources.map(String), mappings: map.mappings }
}
