/** `tls.auto`: the certificates of a cluster of one server, made at its first start and renewed by later ones. */
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { tlsFolderOfFirst } from '../lib/tls-folder.ts'
import { bootstrapTls, endOf } from '../tls/bootstrap.ts'

const dayMs = 24 * 60 * 60 * 1000
const days = 365
/** A start that finds less than this left makes new ones. */
const leftMsMin = (days / 2) * dayMs

export type AutoTls = {
  readonly folder: string
  readonly address: string
  readonly region: string
  readonly clock: Clock
  readonly logger: Logger
}

/** Throws `invalid_argument` when there is no valid certificate and none can be made. */
export async function makeOwnCertificates(options: AutoTls): Promise<void> {
  const { folder, address, region, clock, logger } = options
  const nowMs = clock.wallMs()
  const end = await endOf(join(folder, tlsFolderOfFirst))
  const leftMs = end === null ? 0 : end.getTime() - nowMs
  if (leftMs >= leftMsMin) return
  try {
    const wanted = { folder, region, servers: 1, hosts: [address], days, nowMs }
    const { client, authority, notAfter } = await bootstrapTls(wanted)
    const until = notAfter.toISOString()
    logger.info('made certificates (tls.auto)', { authority, forClientAgents: client, until })
  } catch (error) {
    if (leftMs <= 0) throw error
    logger.warn('the certificates of tls.auto were not renewed', { reason: textOf(error) })
  }
}
