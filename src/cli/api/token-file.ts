/** The token of the last `muster login`, in a file of the user's home that nobody else may read. */
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../../lib/durable-file.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { misused } from '../flags.ts'
import type { Terminal } from '../verb.ts'

const tokenBytesMax = 8_192

/** Null: there is no home to keep it in. */
export function tokenFile(terminal: Terminal): string | null {
  const home = terminal.env('HOME')
  return home === undefined ? null : join(home, '.muster-token')
}

/** Null: nobody logged in. */
export async function storedToken(terminal: Terminal): Promise<string | null> {
  const path = tokenFile(terminal)
  if (path === null) return null
  try {
    await using file = await open(path, 'r')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tokenBytesMax))
    return buffer.toString('utf8', 0, bytesRead).trim() || null
  } catch (error) {
    if (isAbsent(error)) return null
    throw new MusterError('invalid_argument', `the stored token: ${textOf(error)}`, {
      cause: error,
    })
  }
}

/** Where it is now. It is never there in part, nor for others to read. */
export async function storeToken(terminal: Terminal, token: string): Promise<string> {
  const path = tokenFile(terminal)
  if (path === null) misused('HOME is not set, so the token has no place; -no-store prints it')
  try {
    await writeDurably(path, `${token}\n`)
  } catch (error) {
    throw new MusterError('invalid_argument', `the token was not stored: ${textOf(error)}`, {
      cause: error,
    })
  }
  return path
}

export async function forgetToken(terminal: Terminal): Promise<void> {
  const path = tokenFile(terminal)
  if (path !== null) await rm(path, { force: true })
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
