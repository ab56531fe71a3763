/** The certificates of a local cluster that speaks TLS, by the command that operators use, new ones at every start. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { authorityFile } from '../../src/tls/certificates.ts'
import type { AgentPlan } from './options.ts'

const binary = fileURLToPath(new URL('../../bin/muster', import.meta.url))
const run = promisify(execFile)

/** From now on this process trusts them too. Throws what the command said. */
export async function makeCertificates(
  dataDir: string,
  plans: readonly AgentPlan[],
): Promise<{ readonly folder: string; readonly caFile: string }> {
  const folder = join(dataDir, 'tls')
  const servers = plans.filter(({ kind }) => kind === 'server').length
  await run(binary, ['tls', 'bootstrap', '-dir', folder, '-servers', String(servers)])
  const caFile = join(folder, 'authority', authorityFile)
  setDefaultCACertificates([...getCACertificates('default'), await readFile(caFile, 'utf8')])
  return { folder, caFile }
}
