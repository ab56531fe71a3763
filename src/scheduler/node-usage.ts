/** What allocations take of a node, kept as they come and go. */
import type { AllocatedResources } from '../domains/allocations/model.ts'
import { Taken as TakenOfNode } from '../domains/allocations/taken-model.ts'

export type Taken = { readonly cpuMhz: number; readonly memoryMb: number; readonly diskMb: number }

export class NodeUsage {
  readonly #byId = new Map<string, AllocatedResources>()
  readonly #taken = new TakenOfNode(undefined)

  get taken(): Taken {
    const { cpuMhz, memoryMb, diskMb } = this.#taken
    return { cpuMhz, memoryMb, diskMb }
  }

  get ids(): Iterable<string> {
    return this.#byId.keys()
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0
  }

  hasPort(port: number): boolean {
    return this.#taken.hasPort(port)
  }

  add(id: string, resources: AllocatedResources): void {
    this.remove(id)
    this.#byId.set(id, resources)
    this.#taken.add(resources)
  }

  remove(id: string): void {
    const resources = this.#byId.get(id)
    if (resources === undefined) return
    this.#byId.delete(id)
    this.#taken.remove(resources)
  }
}
