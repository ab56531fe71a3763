/**
 * What the processes of this machine take, by /proc. One look serves all that ask within a moment, and lets other work pass in
 * between, for a machine may run very many.
 */
import { readdir, readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'

/** Of the kernel's interface: what /proc counts time in, on all of its platforms. */
const ticksPerSecond = 100
const kib = 1_024
/** A look is good for so long. */
const freshMs = 200
const processesMax = 32_768
const readAtOnce = 64

export type ProcessUse = {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly userMs: number
  readonly systemMs: number
}

export type ProcessTable = { readonly atMs: number; readonly processes: readonly ProcessUse[] }

export type Memory = { readonly rssBytes: number; readonly swapBytes: number }

export class ProcessTables {
  readonly #clock: Clock
  #last: { readonly table: Promise<ProcessTable>; readonly atMs: number } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  read(): Promise<ProcessTable> {
    const atMs = this.#clock.monotonicMs()
    if (this.#last === null || atMs - this.#last.atMs > freshMs) {
      this.#last = { table: readTable(atMs), atMs }
    }
    return this.#last.table
  }
}

async function readTable(atMs: number): Promise<ProcessTable> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const processes: ProcessUse[] = []
  for (let at = 0; at < Math.min(names.length, processesMax); at += readAtOnce) {
    const texts = await Promise.all(
      names.slice(at, at + readAtOnce).map((name) => textOfFile(`/proc/${name}/stat`)),
    )
    processes.push(...texts.flatMap((text) => parseUse(text) ?? []))
    await setImmediate()
  }
  return { atMs, processes }
}

/** `pid (name) state ppid pgrp … utime stime …`, where the name may hold blanks and parentheses. */
export function parseUse(text: string): ProcessUse | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const numbers = [text, fields[1], fields[2], fields[11], fields[12]].map((field) =>
    Number.parseInt(field ?? '', 10),
  )
  const [pid = NaN, parent = NaN, group = NaN, user = NaN, system = NaN] = numbers
  if (numbers.some(Number.isNaN)) return null
  const msPerTick = 1_000 / ticksPerSecond
  return { pid, parent, group, userMs: user * msPerTick, systemMs: system * msPerTick }
}

/** A process, its group, and all that they started. */
export function treeOf({ processes }: ProcessTable, leader: number): readonly ProcessUse[] {
  const children = new Map<number, ProcessUse[]>()
  for (const process of processes) {
    const siblings = children.get(process.parent)
    if (siblings === undefined) children.set(process.parent, [process])
    else siblings.push(process)
  }
  const found = new Map<number, ProcessUse>()
  const due = processes.filter(({ pid, group }) => pid === leader || group === leader)
  for (let next = due.pop(); next !== undefined; next = due.pop()) {
    if (found.has(next.pid)) continue
    found.set(next.pid, next)
    due.push(...(children.get(next.pid) ?? []))
  }
  return [...found.values()].sort((left, right) => left.pid - right.pid)
}

/** Nothing for one that is gone. */
export async function memoryOf(pid: number): Promise<Memory> {
  const text = await textOfFile(`/proc/${pid}/status`)
  const bytes = (name: string): number => {
    const match = new RegExp(`^${name}:\\s+(\\d{1,15}) kB$`, 'm').exec(text)
    return match === null ? 0 : Number(match[1]) * kib
  }
  return { rssBytes: bytes('VmRSS'), swapBytes: bytes('VmSwap') }
}

function textOfFile(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '')
}
