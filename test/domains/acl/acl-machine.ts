/** A state machine with tokens, policies and roles, and an authorizer on it: one that keeps what it found, or a new one. */
import { AclAuthorizer } from '../../../src/domains/acl/authorizer.ts'
import type { CreateChildTokenOutcome } from '../../../src/domains/acl/commands.ts'
import { drawToken, type TokenSpec } from '../../../src/domains/acl/issue.ts'
import type { SpendUseOutcome } from '../../../src/domains/acl/use-commands.ts'
import { domains } from '../../../src/domains/registry.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import type { Reader } from '../../../src/fsm/domain.ts'
import { openMachine, type Machine } from '../../../src/fsm/machine.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'
import type { Permissions } from '../../../src/rpc/authorizer.ts'
import { temporaryFolder } from '../../fsm/toy.ts'
import { specWith } from './token-rows.ts'

type Cleanup = { teardown(end: () => unknown): void }

export type Archive = {
  readonly blocks: readonly Uint8Array[]
  readonly rows: number
  readonly digest: string
}

export class AclMachine {
  readonly machine: Machine
  nowMs = 1_800_000_000_000
  readonly clock: Clock = { ...systemClock, wallMs: () => this.nowMs }

  private constructor(machine: Machine) {
    this.machine = machine
  }

  /** `cascadeRowsMax`: rows that one entry looks at. */
  static open(t: Cleanup, cascadeRowsMax?: number): Promise<AclMachine> {
    return AclMachine.openAt(t, commandVersion, cascadeRowsMax)
  }

  /** In a cluster that runs at this command version. */
  static async openAt(t: Cleanup, version: number, cascadeRowsMax?: number): Promise<AclMachine> {
    const machine = await openMachine({
      folder: await temporaryFolder(t),
      domains,
      decodeConfiguration,
      clock: systemClock,
      logger: silentLogger,
      ...(cascadeRowsMax !== undefined && { cascadeRowsMax }),
    })
    t.teardown(() => machine.close())
    const acl = new AclMachine(machine)
    await acl.apply('state.raiseVersion', { version })
    return acl
  }

  /** `freshen`: what asking the leader brings. */
  authorizer(freshen: () => Promise<void> = async () => {}, reader?: Reader): AclAuthorizer {
    return new AclAuthorizer({
      settings: { enabled: true, defaultPolicy: 'deny', downPolicy: 'deny' },
      reader: reader ?? this.machine.reader(),
      freshen,
      confirm: () => null,
      batch: { open: () => null, stands: () => false },
      spend: async (hash) => {
        const outcome = await this.apply('acl.spendUse', { hash, nowMs: this.nowMs })
        return (outcome as SpendUseOutcome).type !== 'gone'
      },
      clock: this.clock,
      log: silentLogger,
    })
  }

  async apply(type: string, args: unknown): Promise<unknown> {
    const { machine } = this
    const data = machine.encodeCommand({ type, args })
    const index = machine.appliedIndex + 1
    const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
    return outcome
  }

  /** Names of policies and roles must be known. */
  async makeToken(more: Partial<TokenSpec> = {}) {
    const { token, secret } = drawToken(specWith({ createTimeMs: this.nowMs, ...more }), null)
    await this.apply('acl.createToken', token)
    return { ...token, secret }
  }

  /** Ends with the token that has the accessor `parent`. */
  async makeChild(parent: string, more: Partial<TokenSpec> = {}) {
    const { token, secret } = drawToken(specWith({ createTimeMs: this.nowMs, ...more }), null)
    const outcome = await this.apply('acl.createChildToken', { token, parent })
    return { ...token, secret, outcome: outcome as CreateChildTokenOutcome }
  }

  /** Writes up to so many rows that marks stand for. */
  async continueCascades(rowsMax: number): Promise<void> {
    await this.apply('state.continueCascades', { rowsMax })
  }

  async deleteToken(accessor: string): Promise<void> {
    const args = { accessors: [accessor], nowMs: this.nowMs, expiredOnly: false }
    await this.apply('acl.deleteTokens', args)
  }

  async putPolicy(name: string, rules: string): Promise<void> {
    await this.apply('acl.putPolicy', { name, description: '', rules })
  }

  async putRole(name: string, policies: readonly string[]): Promise<void> {
    await this.apply('acl.putRole', { name, description: '', policies })
  }

  async archive(): Promise<Archive> {
    const rows = this.machine.exportRows()
    const blocks: Uint8Array[] = []
    for await (const block of rows.blocks()) blocks.push(block)
    rows.close()
    return { blocks, rows: rows.rows, digest: rows.digest }
  }

  async restore({ blocks, rows, digest }: Archive): Promise<void> {
    const id = 'r'
    await this.apply('state.restoreBegin', { id })
    for (const [number, block] of blocks.entries()) {
      await this.apply('state.restoreChunk', { id, number, rows: block })
    }
    await this.apply('state.restoreCommit', { id, rows, digest })
  }
}

export const remote = '10.0.0.1'

export async function resolved(
  authorizer: AclAuthorizer,
  token: string | null,
  from = remote,
): Promise<Permissions> {
  return authorizer.resolve({ token, remote: from, requestId: 'r' })
}

export function mayRead(permissions: Permissions, key: string): boolean {
  return permissions.may({ resource: 'key', namespace: 'default', key, access: 'read' })
}

export const reads = (prefix: string) => `key_prefix "${prefix}" { policy = "read" }`
