/** What servers ask one another to become a cluster and stay one. `ServerMembership` answers. */
import { Type, type Static } from 'typebox'
import { definePeerMethod, type PeerMethod } from '../rpc/method.ts'
import { serviceKey } from '../rpc/services.ts'
import type { TSchema } from 'typebox'
import { GrantAnswer, GrantRequest } from './bootstrap-grants.ts'
import { Identity, Joiner, WhichServer, type Self } from './self.ts'

/** A leader's answer to a server that leaves. */
export const Left = Type.Object({
  removed: Type.Boolean(),
  /** Why it stays for longer than it can wait; null: nothing of the kind. Older servers do not say. */
  held: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
export type Left = Readonly<Static<typeof Left>>

export interface MembershipAnswers {
  identity(): Identity
  grant(request: GrantRequest): GrantAnswer
  /** The others answer at the leader alone, and reject with `not_leader`, `conflict` and `not_found`. */
  join(joiner: Joiner): Promise<void>
  left(id: string): Promise<Left>
  givenUp(id: string): void
}

export const membershipAnswers = serviceKey<MembershipAnswers>('server.membership')

/** A call of a member where it is dialed, which must have its id. */
export type CallMember = <Args extends TSchema, Reply extends TSchema>(
  member: Self,
  method: PeerMethod<Args, Reply>,
  args: Static<Args>,
) => Promise<Static<Reply>>

const kind = 'peer'

/** Who a server is and whether it holds anything: asked by the others before a cluster begins. */
export const identityMethod = definePeerMethod({
  kind,
  name: 'server.identity',
  args: Type.Object({}),
  reply: Identity,
  run: ({ service }) => service(membershipAnswers).identity(),
})

export const joinMethod = definePeerMethod({
  kind,
  name: 'server.join',
  args: Joiner,
  reply: Type.Unknown(),
  run: ({ service }, joiner) => service(membershipAnswers).join(joiner),
})

export const grantMethod = definePeerMethod({
  kind,
  name: 'server.grant',
  args: GrantRequest,
  reply: GrantAnswer,
  run: ({ service }, request) => service(membershipAnswers).grant(request),
})

export const leaveMethod = definePeerMethod({
  kind,
  name: 'server.leave',
  args: WhichServer,
  reply: Left,
  run: ({ service }, { id }) => service(membershipAnswers).left(id),
})

export const giveUpMethod = definePeerMethod({
  kind,
  name: 'server.giveUp',
  args: WhichServer,
  reply: Type.Unknown(),
  run: ({ service }, { id }) => service(membershipAnswers).givenUp(id),
})

export const serverMethods = [identityMethod, joinMethod, grantMethod, leaveMethod, giveUpMethod]
