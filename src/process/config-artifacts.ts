/** The `client.artifact` block of a configuration: what tasks may have fetched for them. */
import { isAbsolute } from 'node:path'
import Type from 'typebox'
import type { WorkConfig } from '../client-agent/client-config.ts'
import type { Complain } from './config-check.ts'
import { count, duration, emptyBlock, path, size } from './config-values.ts'

const GiB = 2 ** 30
const foldersMax = 64

export const artifactSchema = Type.Object(
  {
    file_folders: Type.Array(path('the absolute path of a folder'), {
      maxItems: foldersMax,
      description: 'a list of absolute paths of folders',
      default: [],
      shown: 'none',
      about: 'folders that jobs may have files of: [Artifacts](jobs.md#artifacts)',
    }),
    http_read_timeout: duration(1_000, 86_400_000, '1s to 24h', {
      default: '30m',
      about: 'of one artifact',
    }),
    http_max_size: size(1, 1024 * GiB, '1B to 1024GiB', {
      default: '10GiB',
      about: 'of one artifact, as it comes',
    }),
    decompression_size_limit: size(1, 1024 * GiB, '1B to 1024GiB', {
      default: '10GiB',
      about: 'of one artifact, unpacked',
    }),
    decompression_file_count_limit: count(1, 1_000_000, {
      default: 4_096,
      about: 'files of one artifact, unpacked',
    }),
  },
  emptyBlock,
)

export function completeArtifacts(
  file: Type.StaticDecode<typeof artifactSchema>,
  complain: Complain,
): WorkConfig['artifacts'] {
  const { file_folders: fileFolders } = file
  if (!fileFolders.every((folder) => isAbsolute(folder))) {
    complain('client.artifact.file_folders', 'must be absolute paths')
  }
  return {
    fileFolders,
    msMax: file.http_read_timeout,
    bytesMax: file.http_max_size,
    unpackedBytesMax: file.decompression_size_limit,
    filesMax: file.decompression_file_count_limit,
  }
}
