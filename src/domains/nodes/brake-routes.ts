/** `/v1/operator/scheduler/brake`: the storm brake. */
import type { Fields } from '../../api/fields.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import { blocking, count, flag, ok, optionally } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { brakeMethods } from './brake-methods.ts'
import { defaultBrake, type BrakeSettings } from './brake-model.ts'
import { Released, StormBrake, StormBrakeBody } from './brake-shapes.ts'
import { shownBrake } from './brake-shown.ts'

const path = '/v1/operator/scheduler/brake'

export const brakeRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path,
    summary: 'The storm brake, and whether it is on',
    permission: 'operator:read',
    query: blocking,
    reply: ok(StormBrake),
    example: {},
    handle: async (request) => {
      // In whole seconds: those who ask at once share the answer.
      const nowMs = Math.floor(request.clock.wallMs() / 1_000) * 1_000
      const { value } = await request.query(brakeMethods.read, { nowMs })
      return { json: shownBrake(value) }
    },
  },
  {
    method: 'PUT',
    path,
    summary: 'Set all settings of the storm brake',
    permission: 'operator:write',
    query: optionally({ cas: count('ModifyIndex that the brake must have') }),
    bodySchema: StormBrakeBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(flag('False: `cas` does not hold')),
    example: { body: { SharePercent: 40, MaxHold: '30m' } },
    handle: async (request) => {
      const settings = settingsOf(request.fields())
      const cas = request.search.unsigned('cas')
      const { changed, row } = await request.call(brakeMethods.set, {
        settings,
        cas: cas === null ? null : Number(cas),
      })
      // As of autopilot: a cas that does not hold is an answer, not an error.
      return { json: changed, index: Math.max(1, row.modifyIndex) }
    },
  },
  {
    method: 'DELETE',
    path,
    summary: 'Release the storm brake',
    permission: 'operator:write',
    reply: ok(Released),
    example: {},
    handle: async (request) => {
      const { changed, row } = await request.call(brakeMethods.release, {})
      return { json: { Released: changed }, index: Math.max(1, row.modifyIndex) }
    },
  },
]

/** What is not sent has its default: the request is all settings. */
function settingsOf(fields: Fields): BrakeSettings {
  return {
    sharePercent: fields.count('SharePercent') ?? defaultBrake.sharePercent,
    nodesMin: fields.count('MinNodes') ?? defaultBrake.nodesMin,
    windowMs: wholeMs(fields, 'Window') ?? defaultBrake.windowMs,
    holdMs: wholeMs(fields, 'MaxHold') ?? defaultBrake.holdMs,
  }
}

function wholeMs(fields: Fields, name: string): number | undefined {
  const ms = fields.durationMs(name)
  if (ms === undefined) return undefined
  if (ms < 0) throw new MusterError('invalid_argument', `${name} must not be below 0`)
  return Math.round(ms)
}
