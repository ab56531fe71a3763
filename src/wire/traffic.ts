/** What went over the streams of each service, in both directions. Plain numbers; the metrics read them. */

export type Traffic = {
  /** By its path; one of the few this program serves and dials. */
  readonly path: string
  /** Open now, on either side. */
  streams: number
  framesSent: number
  framesReceived: number
  /** Of frames, before TLS and without what HTTP/2 adds. */
  bytesSent: number
  bytesReceived: number
}

export class TrafficByPath {
  readonly #byPath = new Map<string, Traffic>()

  of(path: string): Traffic {
    let traffic = this.#byPath.get(path)
    if (traffic === undefined) {
      traffic = {
        path,
        streams: 0,
        framesSent: 0,
        framesReceived: 0,
        bytesSent: 0,
        bytesReceived: 0,
      }
      this.#byPath.set(path, traffic)
    }
    return traffic
  }

  all(): readonly Traffic[] {
    return [...this.#byPath.values()]
  }
}
