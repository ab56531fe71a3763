/** The metrics that every process has, to be joined with those of its parts. */
import type { Clock } from '../lib/clock.ts'
import { metricsDocument, type MetricsDocument } from '../metrics/document.ts'
import type { Exposition, MetricsText } from '../metrics/exposition.ts'
import { garbageMetrics } from '../metrics/garbage.ts'
import { httpMetrics, type ObserverOf } from '../metrics/http.ts'
import { Metrics } from '../metrics/metrics.ts'
import { processMetrics } from '../metrics/process.ts'
import { rpcMetrics, type CallEnd } from '../metrics/rpc.ts'

export class ProcessTelemetry {
  /** For parts that declare families of their own. */
  readonly metrics: Metrics
  readonly observerOf: ObserverOf
  /** Called at the end of each call of a method. */
  readonly callEnded: (end: CallEnd) => void
  readonly #clock: Clock
  /** On the first request: prom-client is a tenth of a second of a start. */
  #exposition: Promise<Exposition> | null = null
  readonly #ends: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.metrics = new Metrics(clock)
    this.observerOf = httpMetrics(this.metrics)
    this.callEnded = rpcMetrics(this.metrics)
  }

  /** `join` declares the families of the parts; what it returns ends them. */
  protected begin(join: () => readonly (() => void)[]): void {
    const stopProcess = processMetrics(this.metrics, this.#clock)
    const stopGarbage = garbageMetrics(this.metrics)
    const ends = join()
    this.metrics.start()
    this.#ends.push(stopProcess, stopGarbage, ...ends, () => this.metrics.stop())
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end()
  }

  document(): MetricsDocument {
    return metricsDocument(this.metrics)
  }

  async text(): Promise<MetricsText> {
    this.#exposition ??= import('../metrics/exposition.ts').then(
      ({ Exposition }) => new Exposition(this.metrics),
    )
    return (await this.#exposition).text()
  }
}
