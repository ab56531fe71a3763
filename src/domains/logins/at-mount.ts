/** What the methods of every login type begin with: the mount that a route was served below, and the right that a path there asks for. */
import { Type, type Static } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import type { Requirement } from '../../rpc/method.ts'
import { MountId, MountPath } from './model.ts'

export const At = Type.Object({ id: MountId, path: MountPath })
export type At = Static<typeof At>

/** The right to what is `below` the mount; it may depend on the name that the method is asked about. */
export function belowMount(
  access: 'read' | 'write' | 'list',
  below: (args: { name: string }) => string,
) {
  return ({ at, name = '' }: { at: At; name?: string }): Requirement => ({
    resource: 'auth',
    path: `${at.path}/${below({ name })}`,
    access,
  })
}

/** It was disabled between the request and its entry: answered as if it had been before. */
export function mountIsGone(): MusterError {
  return new MusterError('not_found', '')
}
