/** This server's metrics. Open to all, as those of peers: they name no one and hold no data. */
import { Type } from 'typebox'
import { defineLocalMethod } from '../../rpc/method.ts'

/** Declared here; `server/telemetry.ts` has its form. */
export type MetricsSource = {
  /** Plain data. */
  document(): object
  text(): Promise<{ readonly type: string; readonly text: string }>
}

export type MetricsMethods = ReturnType<typeof metricsMethods>

export function metricsMethods(source: MetricsSource) {
  const document = defineLocalMethod({
    kind: 'local',
    name: 'operator.metrics',
    args: Type.Object({}),
    requires: () => ({ resource: 'none' }),
    run: async () => source.document(),
  })

  const text = defineLocalMethod({
    kind: 'local',
    name: 'operator.metricsText',
    args: Type.Object({}),
    requires: () => ({ resource: 'none' }),
    run: () => source.text(),
  })

  return { document, text }
}
