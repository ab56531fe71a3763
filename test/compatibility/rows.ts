/**
 * What the commands and libraries of Consul, Nomad and Vault send, and the least that they need to find in the answer. The
 * verdict is not written here: `replay.ts` finds it, by a server that is running.
 */
import { Buffer } from 'node:buffer'

export type Call = {
  readonly method: string
  /** `{name}` stands for what an earlier call kept under that name. */
  readonly path: string
  readonly body?: unknown
  /** What the product itself would answer. Default: 200. */
  readonly status?: readonly number[]
  /** Fields that the client reads: of the object, or of the first element of a list. `a.b` is `b` in `a`. */
  readonly reads?: readonly string[]
  /** The client fails without an index in the answer's headers. */
  readonly index?: boolean
  /** Keeps a field of the answer for later calls; `body` keeps its bytes. */
  readonly keep?: { readonly name: string; readonly field: string }
  /** Sends the bytes that were kept under that name. */
  readonly send?: string
}

export type Row = {
  readonly name: string
  /** Empty: it sends nothing to a server. */
  readonly calls: readonly Call[]
  /** What a user has to know, also where it works. */
  readonly note?: string
}

type More = Omit<Call, 'method' | 'path' | 'reads' | 'body'>

export function get(path: string, reads: readonly string[] = [], more: More = {}): Call {
  return { method: 'GET', path, reads, ...more }
}

export function put(
  path: string,
  body?: unknown,
  reads: readonly string[] = [],
  more: More = {},
): Call {
  return { method: 'PUT', path, ...(body !== undefined && { body }), reads, ...more }
}

export function post(path: string, body?: unknown, reads: readonly string[] = []): Call {
  return { method: 'POST', path, ...(body !== undefined && { body }), reads }
}

export function remove(path: string, body?: unknown, more: More = {}): Call {
  return { method: 'DELETE', path, ...(body !== undefined && { body }), ...more }
}

export function row(name: string, ...calls: readonly Call[]): Row {
  return { name, calls }
}

export function noted(note: string, { name, calls }: Row): Row {
  return { name, calls, note }
}

/** Several commands that ask the same area first. */
export function rows(names: readonly string[], ...calls: readonly Call[]): readonly Row[] {
  return names.map((name) => row(name, ...calls))
}

/** Commands that work on files or start processes. */
export function local(...names: readonly string[]): readonly Row[] {
  return names.map((name) => row(name))
}

/** A policy, a role or a token that is shown without its fields that are empty in Go. */
export const unset = { CreateIndex: 0, ModifyIndex: 0, Hash: null } as const

export const base64 = (text: string): string => Buffer.from(text).toString('base64')
/** 32 bytes that no member has. */
export const gossipKey = Buffer.alloc(32, 7).toString('base64')
