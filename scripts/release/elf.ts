/** What an ELF file says of itself: programs and libraries of a release must be of its platform. */
import { open } from 'node:fs/promises'
import type { Platform } from './project.ts'

const magic = 0x7f454c46
/** `e_machine`, behind the identification and the type of the file. */
const machineAt = 18
const headBytes = 20
const machines: Readonly<Record<Platform['arch'], number>> = { x64: 62, arm64: 183 }

/** Throws unless the file is an ELF file for the platform's processors. */
export async function assertMachine(file: string, { arch }: Pick<Platform, 'arch'>): Promise<void> {
  const machine = await machineOf(file)
  if (machine === machines[arch]) return
  const found = machine === null ? 'no ELF file' : `of machine ${machine}`
  throw new Error(`${file} is ${found}, and ${arch} is ${machines[arch]}`)
}

async function machineOf(file: string): Promise<number | null> {
  await using handle = await open(file)
  const head = Buffer.alloc(headBytes)
  const { bytesRead } = await handle.read(head, 0, headBytes, 0)
  if (bytesRead < headBytes || head.readUInt32BE(0) !== magic) return null
  return head.readUInt16LE(machineAt)
}
