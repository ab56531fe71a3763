/** What gossip writes into the log, event by event. */
import type { Logger } from '../lib/log.ts'
import type { GossipEvent as CoreEvent } from './core/ready.ts'
import type { GossipEvent, MemberView } from './gossip.ts'
import { formatEndpoint } from './wire/address.ts'

/** What the core tells that `gossip.ts` does not show. */
export function logCoreEvent(logger: Logger, event: CoreEvent): void {
  if (event.type === 'refuted') {
    const { by, incarnation } = event
    logger.warn('this member was doubted and objected', { by, incarnation })
  } else if (event.type === 'held-up') {
    logger.warn('this process was not run for a while; gossip blames nobody for it', {
      heldUpMs: Math.round(event.ms),
    })
  } else if (event.type === 'exchange-failed') {
    const { to, error } = event
    logger.warn('a gossip exchange failed', { peer: formatEndpoint(to), error })
  }
}

export function logEvent(logger: Logger, event: GossipEvent): void {
  switch (event.type) {
    case 'member-joined':
      logger.info('member joined', { ...where(event.member), before: event.before ?? 'unknown' })
      return
    case 'member-updated':
      logger.info('member changed', where(event.member))
      return
    case 'member-leaving':
      logger.info('member is leaving', where(event.member))
      return
    case 'member-stays':
      logger.info('member stays after all', where(event.member))
      return
    case 'member-failed':
      logger.warn('member failed', { ...where(event.member), ...doubts(event.member) })
      return
    case 'member-left':
      logger.info('member left', { ...where(event.member), forced: event.forced })
      return
    case 'member-reaped':
      logger.info('member is off the list', where(event.member))
      return
    case 'member-suspected':
      logger.warn('member is suspected', { ...where(event.member), ...doubts(event.member) })
      return
    case 'member-trusted':
      logger.info('member objected and is trusted again', where(event.member))
      return
    case 'member-reach':
      if (event.member.udpBlocked) {
        logger.warn('member answers over TCP only: its UDP is blocked', where(event.member))
      } else {
        logger.info('member answers over UDP again', where(event.member))
      }
      return
    case 'name-conflict': {
      const { name, known, claimed, own } = event
      if (own) {
        logger.error('another member claims the name of this one; give each its own', {
          name,
          known,
          claimed,
        })
      } else {
        logger.warn('two members claim one name', { name, known, claimed })
      }
      return
    }
    case 'name-vote': {
      const { name, outcome, answers, forThis, holder } = event
      const votes = { name, holder, answers, forThis }
      if (outcome === 'lost') {
        logger.error(
          'the pool knows another member by this name and does not take this one in: give it ' +
            'another name, or, if it moved, wait until the old address has failed for 30 s',
          votes,
        )
      } else {
        logger.warn(`the name of this member is ${outcome} after a vote of the pool`, votes)
      }
      return
    }
    case 'user-event':
      logger.debug('user event', { name: event.name, payloadBytes: event.payload.length })
  }
}

function where({ name, endpoint }: MemberView) {
  return { member: name, endpoint }
}

function doubts({ suspicion, goneBy }: MemberView) {
  return {
    by: suspicion?.by ?? goneBy,
    why: suspicion?.why ?? 'told by gossip',
    path: suspicion?.path ?? 'udp',
    toldBy: suspicion?.toldBy ?? null,
    confirmedBy: suspicion?.confirmedBy.join(' ') ?? '',
  }
}
