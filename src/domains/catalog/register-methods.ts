/** What may be written to the catalog by name: whole registrations, and their removal. */
import type { Reader } from '../../fsm/domain.ts'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, type LeaderContext, type Requirement } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { toNode } from '../../rpc/requirements.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import {
  deregisterNode,
  registerNode,
  Deregistration,
  Registration,
  type RegisterOutcome,
} from './commands.ts'
import {
  checkCheck,
  checkNode,
  checkService,
  keyOfName,
  sameRecord,
  type NodeSpec,
} from './model.ts'
import { checkOf, nodeById, nodeOf, serviceOf } from './queries.ts'

/** The same whatever is there already. */
const registerMissing = "'node:write' on the node, or 'service:write' on the names of its services"

export const catalogRegister = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'catalog.register',
  args: Registration,
  // Which of several things it writes is known only beside the state: `mayRegister`.
  requires: () => ({ resource: 'none' }),
  missing: registerMissing,
  run: async (context, args): Promise<{ readonly index: number }> => {
    const checked = checkRegistration(args)
    await mayRegister(context, checked)
    const { index, outcome } = await context.propose(registerNode, {
      ...checked,
      nowMs: Math.floor(context.clock.wallMs()),
    })
    assertRegistered(outcome, checked)
    return { index }
  },
})

export const catalogDeregister = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'catalog.deregister',
  args: Deregistration,
  requires: () => ({ resource: 'none' }),
  missing: registerMissing,
  run: async (context, args): Promise<{ readonly index: number }> => {
    if (args.node === '') throw new MusterError('invalid_argument', 'Node is missing')
    mayDeregister(context, args)
    const nowMs = Math.floor(context.clock.wallMs())
    const { index } = await context.propose(deregisterNode, { ...args, nowMs })
    return { index }
  },
})

/** As it is stored. Throws `invalid_argument`. */
function checkRegistration(args: Registration): Registration {
  const { node, service, checks } = args
  return {
    node: checkNode(node),
    skipNodeUpdate: args.skipNodeUpdate,
    service: service === null ? null : checkService(service),
    checks: checks.map(checkCheck),
  }
}

/** Throws the error that the outcome means for the client. */
export function assertRegistered(outcome: RegisterOutcome, { node }: Registration): void {
  switch (outcome.type) {
    case 'registered':
      return
    case 'noAddress':
      throw new MusterError('invalid_argument', 'Address is missing: a new node needs one')
    case 'unknownService':
      throw new MusterError(
        'invalid_argument',
        `check ${JSON.stringify(outcome.check)} names the service ID ${JSON.stringify(outcome.service)}, which node ${JSON.stringify(node.name)} does not have: register the service first`,
      )
    case 'nameTaken':
      throw new MusterError(
        'invalid_argument',
        `node name ${JSON.stringify(node.name)} is reserved by the living node with ID ${outcome.id}`,
      )
    default:
      assertNever(outcome)
  }
}

async function mayRegister(
  context: LeaderContext,
  { node, skipNodeUpdate, service, checks }: Registration,
): Promise<void> {
  const reader = context.read()
  const known = nodeOf(reader, node.name)
  const keepsNode =
    known !== null &&
    (skipNodeUpdate || sameRecord(known, { ...node, name: known.name, id: node.id ?? known.id }))
  if (!keepsNode) {
    for (const writes of await writesOfNode(reader, node)) mustMay(context, writes, registerMissing)
  }
  if (service !== null) {
    const before = serviceOf(reader, node.name, service.id)
    mustMay(context, writesService(service.name), registerMissing)
    if (before !== null) mustMay(context, writesService(before.name), registerMissing)
  }
  for (const { id, serviceId } of checks) {
    const before = checkOf(reader, node.name, id)
    if (before !== null)
      mustMay(context, writesCheck(before.node, before.serviceName), registerMissing)
    const name =
      service?.id === serviceId
        ? service.name
        : (serviceOf(reader, node.name, serviceId)?.name ?? '')
    mustMay(context, writesCheck(node.name, name), registerMissing)
  }
  // Nothing at all was named, and the node stays as it is: still not for everyone.
  if (keepsNode && service === null && checks.length === 0) {
    mustMay(context, writesNode(node.name), registerMissing)
  }
}

function mayDeregister(context: LeaderContext, { node, serviceId, checkId }: Deregistration): void {
  const reader = context.read()
  if (context.may(writesNode(node))) return
  const service = serviceId === null ? null : serviceOf(reader, node, serviceId)
  const check = checkId === null || serviceId !== null ? null : checkOf(reader, node, checkId)
  const serviceName = service?.name ?? check?.serviceName ?? ''
  mustMay(context, writesCheck(node, serviceName), registerMissing)
}

/** To write a node is to remove the one that has its id under another name, with all that is on it. */
export async function writesOfNode(
  reader: Reader,
  { name, id }: Pick<NodeSpec, 'name' | 'id'>,
): Promise<readonly Requirement[]> {
  const before = id === null ? null : await nodeById(reader, id)
  return before === null ? [writesNode(name)] : [writesNode(name), writesNode(before.name)]
}

/** A check of a service is as the service, any other as the node. */
export function writesCheck(node: string, serviceName: string): Requirement {
  return serviceName === '' ? writesNode(node) : writesService(serviceName)
}

export function writesNode(node: string): Requirement {
  return toNode(keyOfName(node), 'write')
}

export function writesService(service: string): Requirement {
  return { resource: 'service', namespace: defaultNamespace, service, access: 'write' }
}
