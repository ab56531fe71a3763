/** An archive on this machine: read to its last byte, and so verified. */
import type { ArchiveHeader, ArchiveTrailer } from '../../../domains/operator/archive.ts'
import { readArchive } from '../../../domains/operator/archive.ts'
import { MusterError, textOf } from '../../../lib/errors.ts'

export type ArchiveSummary = ArchiveHeader & ArchiveTrailer & { readonly blocks: number }

/** Throws `invalid_argument` for what is no whole archive. */
export async function verifyArchive(source: AsyncIterable<Uint8Array>): Promise<ArchiveSummary> {
  let header: ArchiveHeader | null = null
  let trailer: ArchiveTrailer | null = null
  let blocks = 0
  for await (const part of readArchive(source)) {
    if (part.type === 'header') header = part.header
    else if (part.type === 'trailer') trailer = part.trailer
    else blocks += 1
  }
  if (header === null || trailer === null) throw new MusterError('internal', 'no end of an archive')
  return { ...header, ...trailer, blocks }
}

/** What the system says about a file, as the failure that it is for the command. */
export function fileFailure(path: string, error: unknown): unknown {
  if (error instanceof MusterError || !(error instanceof Error) || !('code' in error)) return error
  const reason = error.code === 'ENOENT' ? 'there is no such file' : textOf(error)
  return new MusterError('invalid_argument', `${path}: ${reason}`, { cause: error })
}
