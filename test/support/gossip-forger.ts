/** An attacker in the gossip pool: sends packets that claim what it likes, sealed if it holds the key. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import type { PacketMessage } from '../../src/gossip/core/message.ts'
import { ownVersions } from '../../src/gossip/core/versions.ts'
import { keyringOf } from '../../src/gossip/keys.ts'
import { emptyCounters } from '../../src/gossip/wire/counters.ts'
import { PacketWire } from '../../src/gossip/wire/packet.ts'
import { encodeTags } from '../../src/gossip/wire/tags.ts'

/** Packets between two pauses, so that no buffer overflows. */
const burst = 32

export class GossipForger {
  readonly #socket: Socket
  readonly #wire: PacketWire
  #running: Promise<void> = Promise.resolve()
  #stopped = false

  private constructor(socket: Socket, key: string | null) {
    this.#socket = socket
    const keyring = keyringOf(key === null ? [] : [key])
    this.#wire = new PacketWire({ label: '', keyring, compress: true, counters: emptyCounters() })
  }

  /** Stopped with the test. */
  static async start(t: Test, key: string | null = null): Promise<GossipForger> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const forger = new GossipForger(socket, key)
    t.teardown(() => forger.stop())
    return forger
  }

  async send(port: number, messages: readonly PacketMessage[]): Promise<void> {
    const packets = this.#wire.encode(messages, { checksum: false })
    for (const [at, packet] of packets.entries()) {
      this.#socket.send(packet, port, '127.0.0.1')
      if (at % burst === burst - 1) await delay(5)
    }
  }

  /** Sends what `make` gives for each count, every few milliseconds until stopped. */
  keepSending(
    ports: readonly number[],
    make: (count: number) => readonly PacketMessage[],
    everyMs = 20,
  ): void {
    this.#running = (async () => {
      for (let count = 0; !this.#stopped; count += 1) {
        for (const port of ports) await this.send(port, make(count))
        await delay(everyMs)
      }
    })()
  }

  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    await this.#running
    this.#socket.close()
  }
}

/** As the member's own farewell, or as others' word of its death. */
export function forgedDeath(
  node: string,
  incarnation: number,
  how: 'left' | 'failed',
): PacketMessage {
  return { type: 'dead', incarnation, node, from: how === 'left' ? node : 'somebody.global' }
}

export function forgedAlive(
  node: string,
  incarnation: number,
  tags: Readonly<Record<string, string>>,
  port: number,
): PacketMessage {
  return {
    type: 'alive',
    incarnation,
    node,
    endpoint: { address: Uint8Array.of(127, 0, 0, 1), port },
    meta: encodeTags(new Map(Object.entries(tags))),
    versions: ownVersions,
  }
}
