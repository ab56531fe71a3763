/** What allocations take of a node, kept as they come and go. */
import type { AllocatedResources } from '../domains/allocations/model.ts'

export type Taken = { readonly cpuMhz: number; readonly memoryMb: number; readonly diskMb: number }

export function takenBy({ tasks, diskMb }: AllocatedResources): Taken {
  let cpuMhz = 0
  let memoryMb = 0
  for (const task of tasks) {
    cpuMhz += task.cpuMhz
    memoryMb += task.memoryMb
  }
  return { cpuMhz, memoryMb, diskMb }
}

export class NodeUsage {
  readonly #byId = new Map<string, AllocatedResources>()
  /** How many have the port: two may for a moment, in a state that a newer program wrote. */
  readonly #ports = new Map<number, number>()
  #cpuMhz = 0
  #memoryMb = 0
  #diskMb = 0

  get taken(): Taken {
    return { cpuMhz: this.#cpuMhz, memoryMb: this.#memoryMb, diskMb: this.#diskMb }
  }

  get ids(): Iterable<string> {
    return this.#byId.keys()
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0
  }

  hasPort(port: number): boolean {
    return this.#ports.has(port)
  }

  add(id: string, resources: AllocatedResources): void {
    this.remove(id)
    this.#byId.set(id, resources)
    this.#count(resources, 1)
  }

  remove(id: string): void {
    const resources = this.#byId.get(id)
    if (resources === undefined) return
    this.#byId.delete(id)
    this.#count(resources, -1)
  }

  #count(resources: AllocatedResources, by: 1 | -1): void {
    const { cpuMhz, memoryMb, diskMb } = takenBy(resources)
    this.#cpuMhz += by * cpuMhz
    this.#memoryMb += by * memoryMb
    this.#diskMb += by * diskMb
    for (const { value } of resources.ports) {
      const users = (this.#ports.get(value) ?? 0) + by
      if (users > 0) this.#ports.set(value, users)
      else this.#ports.delete(value)
    }
  }
}
