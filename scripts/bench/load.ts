/**
 * The load generator: a process of its own, lean enough that the servers and not it are measured, and the same for
 * every system. Keeps a number of connections busy with requests built beforehand; each sends its next request when
 * the last was answered. Reads a plan as JSON, writes figures as JSON.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { Figures, LoadPlan } from './plan.ts'

const headEnd = Buffer.from('\r\n\r\n')
const chunkedEnd = Buffer.from('\r\n0\r\n\r\n')
const statusStart = 'HTTP/1.1 '.length

const plan = JSON.parse(readFileSync(0, 'utf8')) as LoadPlan
const requests = plan.requests.map((text) => Buffer.from(text))
const latenciesMs: number[] = []
/** The same by the second in which they were answered. */
const bySecondMs: (number[] | undefined)[] = []
let next = 0
let errors = 0
let firstError = ''
let open = 0
const startMs = performance.now()
const measureFromMs = startMs + plan.warmupMs
const endMs = measureFromMs + plan.durationMs

for (let i = 0; i < plan.concurrency; i += 1) keepBusy()

function keepBusy(): void {
  const socket = connect({ host: '127.0.0.1', port: plan.port, noDelay: true })
  let sentMs = 0
  let pending: Buffer | null = null
  open += 1

  const send = (): void => {
    const request = requests[next % requests.length]
    next += 1
    if (request === undefined || performance.now() >= endMs) return finish(socket)
    sentMs = performance.now()
    socket.write(request)
  }

  socket.on('connect', send)
  socket.on('error', (error) => fail(socket, error.message))
  socket.on('data', (data: Buffer) => {
    const reply: Buffer = pending === null ? data : Buffer.concat([pending, data])
    if (!isWhole(reply)) {
      pending = reply
      return
    }
    pending = null
    const nowMs = performance.now()
    if (reply.toString('latin1', statusStart, statusStart + 3) !== '200') {
      errors += 1
      firstError ||= reply.toString('latin1', 0, 400)
    } else if (sentMs >= measureFromMs) {
      latenciesMs.push(nowMs - sentMs)
      ;(bySecondMs[Math.floor((nowMs - measureFromMs) / 1_000)] ??= []).push(nowMs - sentMs)
    }
    send()
  })
}

function isWhole(reply: Buffer): boolean {
  const head = reply.indexOf(headEnd)
  if (head < 0) return false
  const match = /\r\ncontent-length: *(\d+)/i.exec(reply.toString('latin1', 0, head + 2))
  if (match === null) return reply.subarray(-chunkedEnd.length).equals(chunkedEnd)
  return reply.length >= head + headEnd.length + Number(match[1])
}

function fail(socket: Socket, text: string): void {
  errors += 1
  firstError ||= text
  finish(socket)
}

function finish(socket: Socket): void {
  if (socket.destroyed) return
  socket.destroy()
  open -= 1
  if (open > 0) return
  const sorted = Float64Array.from(latenciesMs).sort()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  const figures: Figures = {
    perSecond: (sorted.length * 1000) / plan.durationMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    p50BySecondMs: Array.from(bySecondMs, (second = []) => {
      return second.toSorted((a, b) => a - b)[second.length >> 1] ?? 0
    }),
    errors,
    firstError,
  }
  process.stdout.write(JSON.stringify(figures))
}
