/** The way of a client agent's services into the catalog: the servers' API, with the agent's own token. */
import { Fields } from '../api/fields.ts'
import type { AgentUpdate, CatalogLink, HeldPart } from '../domains/local-services/sync.ts'
import {
  checkCheck,
  checkNode,
  checkService,
  keyOfName,
  type CheckSpec,
  type NodeSpec,
  type ServiceSpec,
} from '../domains/catalog/model.ts'
import { checkOf, nodeOf, serviceOf } from '../domains/catalog/registration-routes.ts'
import { shownCheck, shownService } from '../domains/catalog/shown.ts'
import { MusterError } from '../lib/errors.ts'
import { requestJson, readAnswer, type JsonReply } from './json-request.ts'
import type { Upstream } from './upstream.ts'

/** What takes longer is tried again later. */
const callMs = 10_000

export class ClientCatalogLink implements CatalogLink {
  readonly #upstream: Upstream
  readonly #token: string | null
  readonly #abort = new AbortController()

  constructor(upstream: Upstream, token: string | null) {
    this.#upstream = upstream
    this.#token = token
  }

  stop(): void {
    this.#abort.abort()
  }

  async held(node: string): Promise<HeldPart> {
    const name = encodeURIComponent(node)
    const [ofCatalog, ofHealth] = await Promise.all([
      this.#ask('GET', `/v1/catalog/node/${name}`),
      this.#ask('GET', `/v1/health/node/${name}`),
    ])
    return readAnswer(() => heldOf(node, ofCatalog.json, ofHealth.json))
  }

  async announce(node: NodeSpec): Promise<void> {
    await this.#ask('PUT', '/v1/catalog/agent', {
      Node: node.name,
      ID: node.id,
      Address: node.address,
      Datacenter: node.datacenter,
      TaggedAddresses: Object.fromEntries(node.taggedAddresses),
      NodeMeta: Object.fromEntries(node.meta),
    })
  }

  async send(update: AgentUpdate): Promise<void> {
    if (update.type === 'deregister') {
      const { node, serviceId, checkId } = update.deregistration
      const json = { Node: node, ServiceID: serviceId ?? '', CheckID: checkId ?? '' }
      await this.#ask('PUT', '/v1/catalog/deregister', json)
      return
    }
    const { node, service, checks } = update.registration
    await this.#ask('PUT', '/v1/catalog/register', {
      Node: node.name,
      ID: node.id,
      Address: node.address,
      // `announce` has said all of the node.
      SkipNodeUpdate: true,
      ...(service !== null && { Service: shownService({ ...service, ...noIndexes }) }),
      Checks: checks.map((check) => shownCheck({ ...check, ...ofNobody, node: node.name })),
    })
  }

  async #ask(method: 'GET' | 'PUT', url: string, json?: unknown): Promise<JsonReply> {
    const answer = await requestJson(
      this.#upstream,
      { method, url, token: this.#token, json, timeoutMs: callMs },
      this.#abort.signal,
    )
    const { status, text, isFiltered } = answer
    if (status === 403 || isFiltered) {
      const needed =
        'acl.agent_token must be that of a token with write on this node and its services'
      throw new MusterError('permission_denied', `the servers refuse this agent: ${needed}`)
    }
    if (status < 300) return answer
    const code = status < 500 ? 'invalid_argument' : 'unavailable'
    throw new MusterError(code, `a server said ${status}: ${text}`)
  }
}

const noIndexes = { createIndex: 0, modifyIndex: 0 }
/** The catalog has these of the service. */
const ofNobody = { ...noIndexes, serviceName: '', serviceTags: [] }

function heldOf(node: string, catalog: unknown, health: unknown): HeldPart {
  const services = new Map<string, ServiceSpec>()
  const checks = new Map<string, CheckSpec>()
  // Of a node that is not there yet: null.
  const found = catalog === null ? null : new Fields(catalog)
  const byId = found?.object('Services')
  for (const id of byId?.names() ?? []) {
    const service = checkService(serviceOf(new Fields(byId?.raw(id))))
    services.set(service.id, service)
  }
  for (const value of new Fields({ checks: health }).list('checks') ?? []) {
    const check = checkCheck(checkOf(value, node))
    checks.set(keyOfName(check.id), check)
  }
  const shown = found?.object('Node')
  return { node: shown === undefined ? null : checkNode(nodeOf(shown)), services, checks }
}
